// SPDX-License-Identifier: Apache-2.0
// MemoryPlacement: a MemoryLayout in bytes, checked against a box and its memory. Pure.
#pragma once

#include <forebay/error.hpp>
#include <forebay/memory_layout.hpp>

#include <cstdint>
#include <span>

#include "format/box.hpp"

namespace forebay::format {

/// Where the elements of a box lie in memory.
struct MemoryPlacement {
  std::uint64_t offset = 0;  ///< of the first element of the box, in bytes
  Coordinates strides = {};  ///< bytes between neighbors in each dimension

  friend bool operator==(const MemoryPlacement&, const MemoryPlacement&) = default;
};

/// Whether elements may share memory.
enum class MemoryAccess : std::uint8_t {
  kRead,   ///< they may
  kWrite,  ///< an Error: one of them would be overwritten
};

/// A box, and the memory that has its elements.
struct BoxMemory {
  std::span<const std::uint64_t> count;
  std::uint64_t element_bytes = 1;
  std::uint64_t memory_bytes = 0;
  MemoryAccess access = MemoryAccess::kRead;
};

/// The placement of packed elements in C order.
MemoryPlacement packed_placement(std::span<const std::uint64_t> count, std::uint64_t element_bytes);

/// Fails with kInvalidArgument if the layout does not fit the box or the memory; the Error has only
/// a cause. On success each element is in the memory.
Result<MemoryPlacement> place_in_memory(const MemoryLayout& layout, const BoxMemory& box);

}  // namespace forebay::format
