// SPDX-License-Identifier: Apache-2.0
#include "bench/pfs/site.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "bench/read/the_crew.hpp"
#include "model/queueing.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::pfs {

namespace fs = std::filesystem;

Result<std::unique_ptr<Site>> Site::make(Context& context,
                                         const emufs::MountOptions& how,
                                         const fs::path& source) {
  auto machine = model::load_machine(how.machine, model::machine_folders(process_environment()));
  if (!machine) return failure(machine.error());
  auto mounted = emufs::Mounted::make(context.folder(), how);
  if (!mounted) return failure(mounted.error());
  std::unique_ptr<Site> site(new Site(std::move(*machine), std::move(*mounted), source.filename()));
  if (auto copied = site->copy(source); !copied) return failure(copied.error());
  return site;
}

Result<std::unique_ptr<Site>> Site::with_words(Context& context, const emufs::MountOptions& how) {
  const auto words = context.word_file(
      context.choose(ByEffort<std::uint64_t>{.quick = 64_MiB, .usual = 1_GiB, .full = 4_GiB}));
  if (!words) return failure(words.error());
  return make(context, how, *words);
}

read::Prepare Site::cold() const {
  return [path = path()] { return probe::drop_cached(path); };
}

Variant Site::variant(const std::string& name, read::Work work, std::uint64_t tasks) const {
  return {name, cold(),
          [job = read::Job::of(work, cut(tasks))] { return read::the_crew().time(job); }};
}

double Site::limit_s(std::uint64_t bytes) const {
  constexpr double kMegabyte = 1e6;
  return static_cast<double>(bytes) / kMegabyte /
         model::storage_limit_mb_per_s(machine_, model::RequestKind::kRead);
}

/// Made by way of the mount, so that it has a layout; its bytes past it, which takes no time.
Status Site::copy(const fs::path& source) {
  const fs::path kept = mounted_->backing() / file_;
  std::error_code failed;
  if (std::ofstream(path()))
    fs::copy_file(source, kept, fs::copy_options::overwrite_existing, failed);
  if (!failed) file_bytes_ = fs::file_size(kept, failed);
  if (!failed && file_bytes_ > 0) return {};
  return failure(
      system_error({.operation = "make", .path = kept.string()}, failed ? failed.value() : EIO));
}

}  // namespace forebay::bench::pfs
