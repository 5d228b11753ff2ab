// SPDX-License-Identifier: Apache-2.0
#include "bench/emufs/emufs_mount.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "base/config.hpp"
#include "bench/frame/check.hpp"
#include "bench/frame/child_process.hpp"
#include "bench/frame/cpu_affinity.hpp"

namespace forebay::bench::emufs {

namespace fs = std::filesystem;

namespace {

/// The program is in the directory of this one.
fs::path program() { return fs::read_symlink("/proc/self/exe").parent_path() / "forebay-emufs"; }

Status run(const std::vector<std::string>& words) {
  std::vector<std::string> all = {program().string()};
  all.insert(all.end(), words.begin(), words.end());
  return run_child(all);
}

}  // namespace

std::string mount_unavailable_reason() {
  if (::access("/dev/fuse", R_OK | W_OK) != 0) return "/dev/fuse is missing or not accessible";
  if (::geteuid() != 0) return "mounting requires root";
  std::error_code ignored;
  if (!fs::exists(program(), ignored)) return "forebay-emufs was not built";
  return {};
}

model::Machine machine_named(const std::string& name) {
  return model::load_machine(name, model::machine_directories(process_environment())).value();
}

std::string write_machine(const fs::path& directory, const model::Machine& machine) {
  std::string path = (directory / (machine.name + ".toml")).string();
  std::ofstream file(path);
  file << model::to_toml(machine);
  file.close();
  if (!file) check(failure(system_error({.operation = "write", .path = path}, errno)));
  return path;
}

Result<std::unique_ptr<EmufsMount>> EmufsMount::make(const fs::path& parent,
                                                     const MountOptions& options) {
  if (const std::string why = mount_unavailable_reason(); !why.empty()) {
    return failure({.kind = ErrorClass::kUnsupported, .operation = "mount emufs", .cause = why});
  }
  const std::string name = "emufs-" + fs::path(options.machine).stem().string();
  const fs::path backing =
      parent / (options.backing_name.empty() ? name + "-backing" : options.backing_name);
  const fs::path mount_point = parent / name;
  std::error_code failed;
  fs::create_directories(backing, failed);
  if (!failed) fs::create_directories(mount_point, failed);
  if (failed) {
    return failure(
        system_error({.operation = "create", .path = mount_point.string()}, failed.value()));
  }
  std::unique_ptr<EmufsMount> mounted(new EmufsMount(backing, mount_point, options));
  if (auto done = mounted->mount(); !done) return failure(done.error());
  return mounted;
}

EmufsMount::~EmufsMount() {
  if (!unmount()) static_cast<void>(run({"unmount", "--lazy", mount_point_.string()}));
  std::error_code ignored;
  fs::remove_all(backing_, ignored);
}

std::vector<fs::path> EmufsMount::mount_points() const {
  if (options_.clients == 1) return {mount_point_};
  std::vector<fs::path> points;
  for (std::uint32_t i = 0; i < options_.clients; ++i)
    points.push_back(mount_point_ / std::to_string(i));
  return points;
}

/// Created through the mount, so that it has a layout; filled in the backing directory, which takes
/// no emulated time.
Result<fs::path> EmufsMount::create_file(const std::string& name,
                                         std::uint64_t size_bytes,
                                         const fs::path& source) const {
  const fs::path kept = backing_ / name;
  std::error_code failed;
  if (!std::ofstream(mount_point_ / name))
    failed = std::make_error_code(std::errc::io_error);
  else if (source.empty())
    fs::resize_file(kept, size_bytes, failed);
  else
    fs::copy_file(source, kept, fs::copy_options::overwrite_existing, failed);
  if (!failed) return mount_point_ / name;
  return failure(system_error({.operation = "create", .path = kept.string()}, failed.value()));
}

Status EmufsMount::mount() const {
  std::vector<std::string> words = {"mount", "--machine", options_.machine};
  words.insert(words.end(), {"--clients", std::to_string(options_.clients)});
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  words.push_back(backing_.string());
  words.push_back(mount_point_.string());
  if (!options_.core) return run(words);
  const auto affinity = ScopedAffinity::pin(*options_.core);  // inherited by the started process
  if (!affinity) return failure(affinity.error());
  return run(words);
}

Status EmufsMount::unmount() const { return run({"unmount", mount_point_.string()}); }

Status EmufsMount::drop_caches() {
  if (auto ended = unmount(); !ended) return ended;
  return mount();
}

}  // namespace forebay::bench::emufs
