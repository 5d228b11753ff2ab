// SPDX-License-Identifier: Apache-2.0
// BoxCopy: which bytes of a stored block of a global array are in a selection of that array, and
// where they belong in the selection's memory. Blocks and selections are cut independently, so
// their intersection consists of rows in both. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "format/index.hpp"

namespace forebay::restore {

/// Bytes that are contiguous in both: their offset in the block, and their destination.
struct CopyRun {
  std::uint64_t block_offset = 0;
  std::uint64_t memory_offset = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const CopyRun&, const CopyRun&) = default;
};

class BoxCopy {
 public:
  /// Both boxes have the same number of dimensions and share an element (FOREBAY_ASSERT).
  BoxCopy(const format::Box& block, const format::Box& selection, std::uint64_t element_bytes);

  /// From the first to the last byte of the block that is in the selection.
  ByteRange hull() const noexcept;
  /// The same for the bytes in `raw`, a range of the block. Empty if there are none.
  ByteRange hull_in(ByteRange raw) const noexcept;
  /// Number of bytes of the block that are in the selection.
  std::uint64_t bytes() const noexcept { return rows_ * row_bytes_; }

  /// Calls use(CopyRun) for each run of bytes in `raw`, in the order of the block.
  template <class F>
  void for_each(ByteRange raw, F use) const {
    for (std::uint64_t row = first_row_after(raw.offset); row < rows_; ++row) {
      const CopyRun whole = run(row);
      if (whole.block_offset >= raw.end()) return;
      const ByteRange part = intersect({whole.block_offset, whole.bytes}, raw);
      const std::uint64_t skipped = part.offset - whole.block_offset;
      use(CopyRun{part.offset, whole.memory_offset + skipped, part.size});
    }
  }

 private:
  /// Rows in one dimension: their number, and their distance in block and memory.
  struct Axis {
    std::uint64_t count = 1;
    std::uint64_t block_stride = 0;
    std::uint64_t memory_stride = 0;
  };
  CopyRun run(std::uint64_t row) const noexcept;
  std::uint64_t first_row_after(std::uint64_t block_offset) const noexcept;

  std::array<Axis, format::kDimensionsMax> axes_{};  // of rows, slowest first
  std::size_t axis_count_ = 0;
  std::uint64_t rows_ = 1;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t block_base_ = 0;
  std::uint64_t memory_base_ = 0;
};

}  // namespace forebay::restore
