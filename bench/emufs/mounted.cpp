// SPDX-License-Identifier: Apache-2.0
#include "bench/emufs/mounted.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "bench/frame/child.hpp"
#include "bench/frame/cores.hpp"

namespace forebay::bench::emufs {

namespace fs = std::filesystem;

namespace {

/// The program lies beside this one.
fs::path program() { return fs::read_symlink("/proc/self/exe").parent_path() / "forebay-emufs"; }

Status run(const std::vector<std::string>& words) {
  std::vector<std::string> all = {program().string()};
  all.insert(all.end(), words.begin(), words.end());
  return run_child(all);
}

}  // namespace

std::string why_no_mounts() {
  if (::access("/dev/fuse", R_OK | W_OK) != 0) return "there is no /dev/fuse that we may open";
  if (::geteuid() != 0) return "mounting takes root";
  std::error_code ignored;
  if (!fs::exists(program(), ignored)) return "forebay-emufs was not built";
  return {};
}

Result<std::unique_ptr<Mounted>> Mounted::make(const fs::path& parent,
                                               const MountOptions& options) {
  if (const std::string why = why_no_mounts(); !why.empty()) {
    return failure({.kind = ErrorClass::kUnsupported, .operation = "mount emufs", .cause = why});
  }
  const std::string name = "emufs-" + fs::path(options.machine).stem().string();
  const fs::path backing = parent / (name + "-backing");
  const fs::path mount_point = parent / name;
  std::error_code failed;
  fs::create_directories(backing, failed);
  if (!failed) fs::create_directories(mount_point, failed);
  if (failed) {
    return failure(
        system_error({.operation = "make", .path = mount_point.string()}, failed.value()));
  }
  std::unique_ptr<Mounted> mounted(new Mounted(backing, mount_point, options));
  if (auto done = mounted->mount(); !done) return failure(done.error());
  return mounted;
}

Mounted::~Mounted() {
  if (!unmount()) static_cast<void>(run({"unmount", "--lazy", mount_point_.string()}));
  std::error_code ignored;
  fs::remove_all(backing_, ignored);
}

std::vector<fs::path> Mounted::clients() const {
  if (options_.clients == 1) return {mount_point_};
  std::vector<fs::path> points;
  for (std::uint32_t i = 0; i < options_.clients; ++i)
    points.push_back(mount_point_ / std::to_string(i));
  return points;
}

Status Mounted::mount() const {
  std::vector<std::string> words = {"mount", "--machine", options_.machine};
  words.insert(words.end(), {"--clients", std::to_string(options_.clients)});
  words.insert(words.end(), options_.words.begin(), options_.words.end());
  words.push_back(backing_.string());
  words.push_back(mount_point_.string());
  if (!options_.core) return run(words);
  const auto there = OnCore::take(*options_.core);  // inherited by what is started
  if (!there) return failure(there.error());
  return run(words);
}

Status Mounted::unmount() const { return run({"unmount", mount_point_.string()}); }

Status Mounted::drop_caches() {
  if (auto ended = unmount(); !ended) return ended;
  return mount();
}

}  // namespace forebay::bench::emufs
