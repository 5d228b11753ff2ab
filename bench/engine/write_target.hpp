// SPDX-License-Identifier: Apache-2.0
// Targets of the loops in this benchmark: devices of a constant rate, which disks do not have, and
// the local disk for comparison.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// A directory on each of several devices, and the access to files there.
class WriteTarget {
 public:
  /// `count` mounts of emufs, each a separate device that writes `bytes_per_s` bytes a second. They
  /// run on the last core, because the processors of a storage are not those of the program.
  static Result<std::unique_ptr<WriteTarget>> with_fixed_rate(Context& context,
                                                              std::uint32_t count,
                                                              double bytes_per_s);
  /// The directory of the run, with the given access.
  static std::unique_ptr<WriteTarget> local(Context& context, Access access);

  /// Paths of files with blocks for `bytes_each`, one on each device; created once for each size.
  Result<std::vector<std::string>> files(std::uint64_t bytes_each);

  const std::string& name() const noexcept { return name_; }
  Access access() const noexcept { return access_; }

 private:
  WriteTarget(std::string name, Access access) : name_(std::move(name)), access_(access) {}

  std::string name_;
  Access access_;
  std::vector<std::unique_ptr<emufs::EmufsMount>> mounts_;
  std::vector<std::string> directories_;
};

/// Creates a file with blocks for `bytes`, unless it exists with that size.
Status make_allocated_file(const std::string& path, std::uint64_t bytes);

/// Why devices of a fixed rate are unavailable; empty if they are available.
std::string fixed_rate_unavailable_reason();

}  // namespace forebay::bench::engine
