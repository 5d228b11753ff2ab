// SPDX-License-Identifier: Apache-2.0
// What the pages of `bench pfs` share: a mounted machine with one file on it. Each page mounts its
// own, so that a page that is not wanted costs nothing and none finds what another has left.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <memory>
#include <string>

#include "bench/emufs/mounted.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/frame/slices.hpp"
#include "bench/read/rows.hpp"
#include "model/machine.hpp"

namespace forebay::bench::pfs {

constexpr unsigned kRounds = 5;

class Site {
 public:
  /// The machine of `how`, and a copy of `source` on it.
  static Result<std::unique_ptr<Site>> make(Context& context,
                                            const emufs::MountOptions& how,
                                            const std::filesystem::path& source);
  /// The same with the words that most rows read.
  static Result<std::unique_ptr<Site>> with_words(Context& context, const emufs::MountOptions& how);

  std::filesystem::path path() const { return mounted_->path() / file_; }
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  Cut cut(std::uint64_t tasks) const {
    return {.path = path(), .file_bytes = file_bytes_, .task_count = tasks};
  }
  /// The crew does this with a cold file.
  Variant variant(const std::string& name, read::Work work, std::uint64_t tasks) const;
  const model::Machine& machine() const noexcept { return machine_; }
  /// No client has anything of the file.
  read::Prepare cold() const;
  /// What nothing can be faster than that reads so much of the storage.
  double limit_s(std::uint64_t bytes) const;

 private:
  Site(model::Machine machine, std::unique_ptr<emufs::Mounted> mounted, std::filesystem::path file)
      : machine_(std::move(machine)), mounted_(std::move(mounted)), file_(std::move(file)) {}
  Status copy(const std::filesystem::path& source);

  model::Machine machine_;
  std::unique_ptr<emufs::Mounted> mounted_;
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
