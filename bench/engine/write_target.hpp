// SPDX-License-Identifier: Apache-2.0
// Targets of the loops in this benchmark: devices of a constant rate, which disks do not have, and
// the local disk for comparison.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// A directory on each of several devices, and the access to files there.
struct WriteTarget {
  std::string name;
  Access access = Access::kDirect;
  std::vector<std::filesystem::path> directories = {};
  std::vector<std::unique_ptr<emufs::EmufsMount>> mounts = {};

  /// `count` mounts of emufs, each a separate device that writes `bytes_per_s` bytes a second. They
  /// run on the last core, because the processors of a storage are not those of the program.
  static WriteTarget with_fixed_rate(Context& context, std::uint32_t count, double bytes_per_s);
  /// The directory of the run, with the given access.
  static WriteTarget local(Context& context, Access access);

  /// Paths of files with blocks for `bytes_each`, one on each device; created once for each size.
  std::vector<std::string> files(std::uint64_t bytes_each) const;
};

/// Why devices of a fixed rate are unavailable; empty if they are available.
std::string fixed_rate_unavailable_reason();

}  // namespace forebay::bench::engine
