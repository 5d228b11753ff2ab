// SPDX-License-Identifier: Apache-2.0
// BoxCopy: which bytes of a stored block of a global array lie in a region of that array, and where
// in the region's memory they belong. Blocks and regions are cut independently of each other, so
// what they share is rows in both. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "format/index.hpp"

namespace forebay::restore {

/// Contiguous in both: so many bytes of the block, and where they go.
struct Run {
  std::uint64_t block_offset = 0;
  std::uint64_t into_offset = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const Run&, const Run&) = default;
};

class BoxCopy {
 public:
  /// Both have the same number of dimensions and share an element (FOREBAY_ASSERT).
  BoxCopy(const format::Box& block, const format::Box& region, std::uint64_t element_bytes);

  /// From the first to behind the last byte of the block that is in the region.
  ByteRange hull() const noexcept;
  /// The same of those that are in `raw`, bytes of the block; empty if there are none.
  ByteRange hull_in(ByteRange raw) const noexcept;
  /// Bytes of the block that are in the region.
  std::uint64_t bytes() const noexcept { return rows_ * row_bytes_; }

  /// Calls use(Run) for each run of bytes in `raw`, in the order of the block.
  template <class F>
  void for_each(ByteRange raw, F use) const {
    for (std::uint64_t row = first_row_behind(raw.offset); row < rows_; ++row) {
      const Run whole = run(row);
      if (whole.block_offset >= raw.end()) return;
      const ByteRange part = intersect({whole.block_offset, whole.bytes}, raw);
      const std::uint64_t skipped = part.offset - whole.block_offset;
      use(Run{part.offset, whole.into_offset + skipped, part.size});
    }
  }

 private:
  /// Of rows: how many in this direction, and how far apart.
  struct Axis {
    std::uint64_t count = 1;
    std::uint64_t block_stride = 0;
    std::uint64_t into_stride = 0;
  };
  Run run(std::uint64_t row) const noexcept;
  std::uint64_t first_row_behind(std::uint64_t block_offset) const noexcept;

  std::array<Axis, format::kDimensionsMax> axes_{};  // of rows, slowest first
  std::size_t axis_count_ = 0;
  std::uint64_t rows_ = 1;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t block_base_ = 0;
  std::uint64_t into_base_ = 0;
};

}  // namespace forebay::restore
