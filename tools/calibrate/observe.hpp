// SPDX-License-Identifier: Apache-2.0
// Measures a storage under known loads, on a file in a directory. It is read and written past the
// page cache with a growing number of requests in flight, through the library's engine.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>

#include "tools/calibrate/fit.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::calibrate {

struct ObserveLimits {
  std::uint64_t file_bytes = 256ULL << 20U;
  std::uint32_t depth_max = 64;
  double seconds_each = 0.2;      ///< one round of one load
  unsigned rounds = 3;            ///< the median of these counts
  unsigned metadata_files = 200;  ///< files to create, open, stat and remove
  unsigned syncs = 9;             ///< of each kind; the median of these counts
};

/// Called before each load and at the end.
using ProgressCallback = std::function<void(const probe::ProgressStep& step)>;

/// Creates a directory in `directory`, measures, and removes it, also when a signal ends the
/// process (see ScratchDirectory). Blocks for about a minute by default. kUnsupported if files
/// cannot be read past the page cache: the measurement would be of memory.
Result<Observations> observe(const std::filesystem::path& directory,
                             const ObserveLimits& limits,
                             const ProgressCallback& on_progress);

}  // namespace forebay::calibrate
