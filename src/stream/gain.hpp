// SPDX-License-Identifier: Apache-2.0
// The seed's law of overlap: how long n buffers take at least when computing and writing them go on
// at the same time. What a stream is measured against.
#pragma once

#include <algorithm>
#include <cstdint>

namespace forebay::stream {

/// T = C + W + (n - 1) max(C, W): the first buffer is computed with nothing to write, the last one
/// written with nothing to compute. 0 for no buffers.
constexpr double overlapped_seconds(double compute_s, double write_s, std::uint64_t buffers) {
  if (buffers == 0) return 0;
  return compute_s + write_s + static_cast<double>(buffers - 1) * std::max(compute_s, write_s);
}

}  // namespace forebay::stream
