// SPDX-License-Identifier: Apache-2.0
#include "bench/pfs/mounted_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/config.hpp"
#include "bench/read/rank_harness_instance.hpp"
#include "model/queueing.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::pfs {

namespace fs = std::filesystem;

Result<std::unique_ptr<MountedFile>> MountedFile::make(Context& context,
                                                       const emufs::MountOptions& options,
                                                       const fs::path& source) {
  auto machine =
      model::load_machine(options.machine, model::machine_directories(process_environment()));
  if (!machine) return failure(machine.error());
  auto mounted = emufs::EmufsMount::make(context.directory(), options);
  if (!mounted) return failure(mounted.error());
  std::unique_ptr<MountedFile> mounted_file(
      new MountedFile(std::move(*machine), std::move(*mounted), source.filename()));
  if (auto copied = mounted_file->copy(source); !copied) return failure(copied.error());
  return mounted_file;
}

Result<std::unique_ptr<MountedFile>> MountedFile::with_word_file(
    Context& context, const emufs::MountOptions& options) {
  const auto words = context.word_file(
      context.choose(ByEffort<std::uint64_t>{.quick = 64_MiB, .usual = 1_GiB, .full = 4_GiB}));
  if (!words) return failure(words.error());
  return make(context, options, *words);
}

read::Prepare MountedFile::drop_cache() const {
  return [path = path()] { return probe::drop_cached(path); };
}

Variant MountedFile::variant(const std::string& name,
                             read::Kernel kernel,
                             std::uint64_t tasks) const {
  return {name, drop_cache(), [job = read::Job::make(kernel, partition(tasks))] {
            return read::rank_harness().time(job);
          }};
}

double MountedFile::lower_bound_s(std::uint64_t bytes) const {
  constexpr double kMegabyte = 1e6;
  return static_cast<double>(bytes) / kMegabyte /
         model::storage_limit_mb_per_s(machine_, model::RequestKind::kRead);
}

/// Created through the mount, so that it has a layout. Its bytes are copied to the backing
/// directory, which takes no emulated time.
Status MountedFile::copy(const fs::path& source) {
  const fs::path kept = mounted_->backing() / file_;
  std::error_code failed;
  if (std::ofstream(path()))
    fs::copy_file(source, kept, fs::copy_options::overwrite_existing, failed);
  if (!failed) file_bytes_ = fs::file_size(kept, failed);
  if (!failed && file_bytes_ > 0) return {};
  return failure(
      system_error({.operation = "create", .path = kept.string()}, failed ? failed.value() : EIO));
}

}  // namespace forebay::bench::pfs
