// SPDX-License-Identifier: Apache-2.0
// Which bytes of a file are asked for when it is measured: arithmetic apart from asking, so that it
// is tested for every way a file may be cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace forebay::calibrate {

/// Places of a file: those of one server, or any.
struct Places {
  std::uint64_t file_bytes = 0;
  std::uint64_t stripe_bytes = 0;  ///< 0: all bytes lie together
  std::uint32_t server_count = 1;  ///< of which the first is asked; 1: all

  /// Bytes from one stripe of a server to its next.
  std::uint64_t row_bytes() const { return stripe_bytes * server_count; }

  /// Where a request of so many bytes, at most file_bytes, begins: all of it lies in the file.
  std::uint64_t random(std::mt19937_64& random, std::uint64_t request_bytes) const {
    const std::uint64_t row = row_bytes();
    if (server_count <= 1 || row == 0 || request_bytes > stripe_bytes)
      return random() % (file_bytes / request_bytes) * request_bytes;
    const std::uint64_t stripe = random() % std::max<std::uint64_t>(file_bytes / row, 1) * row;
    const std::uint64_t in_stripe = std::min(stripe_bytes, file_bytes - stripe);
    return stripe + random() % (in_stripe / request_bytes) * request_bytes;
  }
};

}  // namespace forebay::calibrate
