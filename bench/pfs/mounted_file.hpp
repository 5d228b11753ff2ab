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

class MountedFile {
 public:
  /// Mounts the machine of `options`, and copies `source` to it.
  static std::unique_ptr<MountedFile> make(Context& context,
                                           const emufs::MountOptions& options,
                                           const std::filesystem::path& source);
  /// The same with the word file that most rows read.
  static std::unique_ptr<MountedFile> with_word_file(Context& context,
                                                     const emufs::MountOptions& options);

  const std::filesystem::path& path() const noexcept { return file_.path; }
  std::uint64_t file_bytes() const noexcept { return file_.file_bytes; }
  FilePartition partition(std::uint64_t tasks) const {
    return {.path = path(), .file_bytes = file_bytes(), .task_count = tasks};
  }
  const model::Machine& machine() const noexcept { return machine_; }
  /// Drops the file from the caches of all clients.
  read::Prepare drop_cache() const { return read::cold(path()); }
  /// The shortest possible time to read `bytes` from this storage.
  double lower_bound_s(std::uint64_t bytes) const;

 private:
  MountedFile(model::Machine machine,
              std::unique_ptr<emufs::EmufsMount> mounted,
              FilePartition file)
      : machine_(std::move(machine)), mounted_(std::move(mounted)), file_(std::move(file)) {}

  model::Machine machine_;
  std::unique_ptr<emufs::EmufsMount> mounted_;
  FilePartition file_;
};

// The rows of the table, one file each.
Status bench_overlap(Context& context);
/// Why its row cannot be measured here; empty if it can.
std::string overlap_unavailable_reason();
Status bench_istream(Context& context);
Status bench_streams(Context& context);
Status bench_blocks(Context& context);
Status bench_tipsy(Context& context);

}  // namespace forebay::bench::pfs
