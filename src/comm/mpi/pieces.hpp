// SPDX-License-Identifier: Apache-2.0
// Pieces: splits a transfer that is too long for one MPI call, which counts in int.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/assert.hpp"

namespace forebay::comm {

struct Piece {
  std::uint64_t first = 0;  ///< offset in the transfer, in bytes
  int size = 0;             ///< in bytes
};

/// The pieces of one transfer.
class Pieces {
 public:
  Pieces(std::uint64_t total_bytes, std::uint64_t piece_bytes) noexcept
      : total_bytes_(total_bytes), piece_bytes_(piece_bytes) {
    FOREBAY_ASSERT(piece_bytes > 0);
  }

  /// At least 1: an empty transfer is one empty piece.
  std::uint64_t count() const noexcept {
    return total_bytes_ == 0 ? 1 : (total_bytes_ - 1) / piece_bytes_ + 1;
  }

  /// For an index of count() or more, an empty piece at the end of the transfer.
  Piece at(std::uint64_t index) const noexcept {
    if (index >= count()) return {total_bytes_, 0};
    const std::uint64_t first = index * piece_bytes_;
    return {first, static_cast<int>(std::min(piece_bytes_, total_bytes_ - first))};
  }

 private:
  std::uint64_t total_bytes_;
  std::uint64_t piece_bytes_;
};

}  // namespace forebay::comm
