// SPDX-License-Identifier: Apache-2.0
// What a storage does under known loads: a file of its own in a folder, read and written past the
// page cache with a growing number of requests under way, through the library's own engine.
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
  double seconds_each = 0.2;  ///< one round of one load
  unsigned rounds = 3;        ///< the median of these counts
  unsigned names = 200;       ///< files that are made, opened, looked at and removed
};

/// Called before each load and at the end.
using Tell = std::function<void(const probe::Step& step)>;

/// Makes a folder in `folder`, measures, and removes it, also when a signal asks the process to end
/// (OwnFolder has the rules). Blocks for about a minute by default. kUnsupported where files cannot
/// be read past the page cache: what is measured would be memory.
Result<Observations> observe(const std::filesystem::path& folder,
                             const ObserveLimits& limits,
                             const Tell& tell);

}  // namespace forebay::calibrate
