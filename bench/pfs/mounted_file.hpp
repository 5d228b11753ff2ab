// SPDX-License-Identifier: Apache-2.0
// Shared by the pages of `bench pfs`: a mounted machine with one file. Each page has a separate
// mount, so unselected pages cost nothing and no page is affected by another.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <memory>
#include <string>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/frame/file_partition.hpp"
#include "bench/read/rows.hpp"
#include "model/machine.hpp"

namespace forebay::bench::pfs {

constexpr unsigned kRounds = 5;

class MountedFile {
 public:
  /// Mounts the machine of `options`, and copies `source` to it.
  static Result<std::unique_ptr<MountedFile>> make(Context& context,
                                                   const emufs::MountOptions& options,
                                                   const std::filesystem::path& source);
  /// The same with the word file that most rows read.
  static Result<std::unique_ptr<MountedFile>> with_word_file(Context& context,
                                                             const emufs::MountOptions& options);

  std::filesystem::path path() const { return mounted_->path() / file_; }
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  FilePartition partition(std::uint64_t tasks) const {
    return {.path = path(), .file_bytes = file_bytes_, .task_count = tasks};
  }
  /// Runs `kernel` on all active ranks with a cold file.
  Variant variant(const std::string& name, read::Kernel kernel, std::uint64_t tasks) const;
  const model::Machine& machine() const noexcept { return machine_; }
  /// Drops the file from the caches of all clients.
  read::Prepare drop_cache() const;
  /// The shortest possible time to read `bytes` from this storage.
  double lower_bound_s(std::uint64_t bytes) const;

 private:
  MountedFile(model::Machine machine,
              std::unique_ptr<emufs::EmufsMount> mounted,
              std::filesystem::path file)
      : machine_(std::move(machine)), mounted_(std::move(mounted)), file_(std::move(file)) {}
  Status copy(const std::filesystem::path& source);

  model::Machine machine_;
  std::unique_ptr<emufs::EmufsMount> mounted_;
  std::filesystem::path file_;  // its name
  std::uint64_t file_bytes_ = 0;
};

// The rows of the table, one file each.
Status bench_limit(Context& context);
Status bench_naive(Context& context);
Status bench_overlap(Context& context);
Status bench_istream(Context& context);
Status bench_streams(Context& context);
Status bench_blocks(Context& context);
Status bench_tipsy(Context& context);

}  // namespace forebay::bench::pfs
