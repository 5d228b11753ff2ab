// SPDX-License-Identifier: Apache-2.0
// Where rows are computed into: fresh memory for each, as the re-mapper has it, the same on a
// cache line of its own, or a bounded pool. Three rungs of the ladder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace forebay::bench::cube {

enum class Memory : std::uint8_t {
  kFresh,    ///< from the heap, zeroed, given back to it
  kAligned,  ///< the same, beginning on a cache line
  kPool,     ///< one of a few that are used again and again
};

/// Rows of a pool: each file's writing thread has one or two, and as many are computed.
inline constexpr std::uint32_t kPoolRows = 16;

/// All calls from any thread.
class RowMemory {
 public:
  virtual ~RowMemory() = default;
  /// Room for `bytes`; null if all of a pool is in use. Throws std::bad_alloc.
  virtual std::byte* take(std::uint64_t bytes) = 0;
  virtual void give_back(std::byte* row) noexcept = 0;
};

/// `row_bytes_max`: no row of a pool is longer.
std::unique_ptr<RowMemory> make_row_memory(Memory memory, std::uint64_t row_bytes_max);

}  // namespace forebay::bench::cube
