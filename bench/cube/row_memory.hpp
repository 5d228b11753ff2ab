// SPDX-License-Identifier: Apache-2.0
// Memory for computed rows: new memory for each row, as in the original; the same on cache lines;
// or a bounded pool. Three of the stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace forebay::bench::cube {

enum class RowAllocation : std::uint8_t {
  kFresh,    ///< from the heap, zeroed, freed after use
  kAligned,  ///< the same, aligned to a cache line
  kPool,     ///< one of a few that are reused
};

/// Rows of a pool: the writing thread of each file has one or two, and as many are being computed.
inline constexpr std::uint32_t kPoolRows = 16;

/// Thread-safe.
class RowMemory {
 public:
  virtual ~RowMemory() = default;
  /// Returns memory for `bytes`; null if all rows of a pool are in use. Throws std::bad_alloc.
  virtual std::byte* acquire(std::uint64_t bytes) = 0;
  virtual void release(std::byte* row) noexcept = 0;
};

/// Rows of a pool have at most `row_bytes_max`.
std::unique_ptr<RowMemory> make_row_memory(RowAllocation memory, std::uint64_t row_bytes_max);

}  // namespace forebay::bench::cube
