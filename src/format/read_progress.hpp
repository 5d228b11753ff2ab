// SPDX-License-Identifier: Apache-2.0
// ReadProgress: progress of a long read of a dataset.
#pragma once

#include <cstdint>
#include <functional>

namespace forebay::format {

struct ReadProgress {
  std::uint32_t pass = 0;  ///< increases when the next pass begins; its bytes count from 0
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// Called at times, by one thread at a time; returning false ends the read with kCancelled.
using ProgressCallback = std::function<bool(const ReadProgress&)>;

}  // namespace forebay::format
