// SPDX-License-Identifier: Apache-2.0
// How far somebody is who reads a dataset for long.
#pragma once

#include <cstdint>
#include <functional>

namespace forebay::format {

struct ReadProgress {
  std::uint32_t pass = 0;  ///< rises where something else is read, and counted from 0
  std::uint64_t done_bytes = 0;
  std::uint64_t all_bytes = 0;
};

/// Called now and then, by one thread at a time; false ends with kCancelled.
using OnProgress = std::function<bool(const ReadProgress&)>;

}  // namespace forebay::format
