// SPDX-License-Identifier: Apache-2.0
// TransferParts: splits a transfer that is too long for one MPI call, which counts in int.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/assert.hpp"

namespace forebay::comm {

struct TransferPart {
  std::uint64_t first = 0;  ///< offset in the transfer, in bytes
  int size = 0;             ///< in bytes
};

/// The parts of one transfer.
class TransferParts {
 public:
  TransferParts(std::uint64_t total_bytes, std::uint64_t part_bytes) noexcept
      : total_bytes_(total_bytes), part_bytes_(part_bytes) {
    FOREBAY_ASSERT(part_bytes > 0);
  }

  /// At least 1: an empty transfer is one empty part.
  std::uint64_t count() const noexcept {
    return total_bytes_ == 0 ? 1 : (total_bytes_ - 1) / part_bytes_ + 1;
  }

  /// For an index of count() or more, an empty part at the end of the transfer.
  TransferPart at(std::uint64_t index) const noexcept {
    if (index >= count()) return {total_bytes_, 0};
    const std::uint64_t first = index * part_bytes_;
    return {first, static_cast<int>(std::min(part_bytes_, total_bytes_ - first))};
  }

 private:
  std::uint64_t total_bytes_;
  std::uint64_t part_bytes_;
};

}  // namespace forebay::comm
