// SPDX-License-Identifier: Apache-2.0
#include "bench/pfs/mounted_file.hpp"

#include <utility>

#include "base/config.hpp"
#include "model/queueing.hpp"

namespace forebay::bench::pfs {

namespace fs = std::filesystem;

std::unique_ptr<MountedFile> MountedFile::make(Context& context,
                                               const emufs::MountOptions& options,
                                               const fs::path& source) {
  auto machine =
      model::load_machine(options.machine, model::machine_directories(process_environment()));
  auto mounted = emufs::EmufsMount::make(context.directory(), options).value();
  auto path = mounted->create_file(source.filename().string(), 0, source).value();
  const std::uint64_t file_bytes = fs::file_size(source);
  return std::unique_ptr<MountedFile>(
      new MountedFile(std::move(machine).value(), std::move(mounted),
                      {.path = std::move(path), .file_bytes = file_bytes, .task_count = 1}));
}

std::unique_ptr<MountedFile> MountedFile::with_word_file(Context& context,
                                                         const emufs::MountOptions& options) {
  const auto words = context.word_file(
      context.choose(ByEffort<std::uint64_t>{.quick = 64_MiB, .usual = 1_GiB, .full = 4_GiB}));
  return make(context, options, words.value());
}

double MountedFile::lower_bound_s(std::uint64_t bytes) const {
  constexpr double kMegabyte = 1e6;
  return static_cast<double>(bytes) / kMegabyte /
         model::storage_limit_mb_per_s(machine_, model::RequestKind::kRead);
}

}  // namespace forebay::bench::pfs
