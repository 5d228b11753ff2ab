// SPDX-License-Identifier: Apache-2.0
// Chooses the offsets of a file that a measurement requests. Separate from I/O, so it is tested for
// every striping of a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace forebay::calibrate {

/// Offsets of a file: on its first server, or on any.
struct OffsetSampler {
  std::uint64_t file_bytes = 0;
  std::uint64_t stripe_bytes = 0;  ///< 0: no striping
  std::uint32_t server_count = 1;  ///< the first of these is used; 1: all bytes

  /// Bytes of a stripe round: from one stripe of a server to its next.
  std::uint64_t row_bytes() const { return stripe_bytes * server_count; }

  /// Offset of a request of `request_bytes`, at most file_bytes, that lies in the file.
  std::uint64_t random_offset(std::mt19937_64& random, std::uint64_t request_bytes) const {
    const std::uint64_t row = row_bytes();
    if (server_count <= 1 || row == 0 || request_bytes > stripe_bytes)
      return random() % (file_bytes / request_bytes) * request_bytes;
    const std::uint64_t stripe = random() % std::max<std::uint64_t>(file_bytes / row, 1) * row;
    const std::uint64_t in_stripe = std::min(stripe_bytes, file_bytes - stripe);
    return stripe + random() % (in_stripe / request_bytes) * request_bytes;
  }
};

}  // namespace forebay::calibrate
