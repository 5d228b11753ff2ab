// SPDX-License-Identifier: Apache-2.0
#include "bench/pfs/mounted_file.hpp"

#include <system_error>
#include <utility>

#include "base/config.hpp"
#include "model/queueing.hpp"

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
  auto path = (*mounted)->create_file(source.filename().string(), 0, source);
  if (!path) return failure(path.error());
  std::error_code failed;
  const std::uint64_t file_bytes = fs::file_size(source, failed);
  if (failed)
    return failure(
        system_error({.operation = "get size", .path = source.string()}, failed.value()));
  return std::unique_ptr<MountedFile>(
      new MountedFile(std::move(*machine), std::move(*mounted),
                      {.path = std::move(*path), .file_bytes = file_bytes, .task_count = 1}));
}

Result<std::unique_ptr<MountedFile>> MountedFile::with_word_file(
    Context& context, const emufs::MountOptions& options) {
  const auto words = context.word_file(
      context.choose(ByEffort<std::uint64_t>{.quick = 64_MiB, .usual = 1_GiB, .full = 4_GiB}));
  if (!words) return failure(words.error());
  return make(context, options, *words);
}

double MountedFile::lower_bound_s(std::uint64_t bytes) const {
  constexpr double kMegabyte = 1e6;
  return static_cast<double>(bytes) / kMegabyte /
         model::storage_limit_mb_per_s(machine_, model::RequestKind::kRead);
}

}  // namespace forebay::bench::pfs
