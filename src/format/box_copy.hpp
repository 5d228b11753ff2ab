// SPDX-License-Identifier: Apache-2.0
// BoxCopy: which bytes of a stored block of a global array are in a selection of that array, where
// they lie in memory, and copies in both directions. Blocks, selections and memory are cut
// independently, so what they share consists of rows that are contiguous in all of them. Reads no
// file.
#pragma once

#include <forebay/range.hpp>

#include <array>
#include <cstdint>

#include "format/box.hpp"
#include "format/memory_placement.hpp"
#include "format/records.hpp"

namespace forebay::format {

/// Bytes that are contiguous in both: their offset in the block, and their offset in memory.
struct CopyRun {
  std::uint64_t block_offset = 0;
  std::uint64_t memory_offset = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const CopyRun&, const CopyRun&) = default;
};

class BoxCopy {
 public:
  /// Both boxes have the same number of dimensions and share an element (FOREBAY_ASSERT). The
  /// elements of the selection are packed in memory.
  BoxCopy(const Box& block, const Box& selection, std::uint64_t element_bytes);
  /// The same with the elements of the selection at `memory`.
  BoxCopy(const Box& block,
          const Box& selection,
          const MemoryPlacement& memory,
          std::uint64_t element_bytes);

  /// From the first to the last byte of the block that is in the selection.
  ByteRange hull() const noexcept;
  /// The same for the bytes in `raw`, a range of the block. Empty if there are none.
  ByteRange hull_in(ByteRange raw) const noexcept;
  /// Number of bytes of the block that are in the selection.
  std::uint64_t bytes() const noexcept { return rows_ * row_bytes_; }
  /// True if all of them are one run.
  bool is_one_run() const noexcept { return rows_ == 1; }
  /// Bytes of a whole run.
  std::uint64_t run_bytes() const noexcept { return row_bytes_; }
  /// Offset in memory of the first of them.
  std::uint64_t memory_offset() const noexcept { return memory_base_; }

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

  // Copies of the runs in `raw`, which begins and ends at elements. `block` has the bytes of `raw`.
  // Transposed elements are copied in tiles that fit a core's cache.
  void to_block(ByteRange raw, std::byte* block, const std::byte* memory) const;
  void to_memory(ByteRange raw, const std::byte* block, std::byte* memory) const;

 private:
  /// Rows in one dimension: their number, and their distance in block and memory.
  struct Axis {
    std::uint64_t count = 1;
    std::uint64_t block_stride = 0;
    std::uint64_t memory_stride = 0;
  };
  /// A half-open range of rows.
  struct RowRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  void add_axis(const Axis& axis) noexcept;
  CopyRun run(std::uint64_t row) const noexcept;
  std::uint64_t first_row_after(std::uint64_t block_offset) const noexcept;
  template <class Copy>
  void for_each_grid(ByteRange raw, const Copy& copy) const;
  template <class Copy>
  void split_rows(RowRange rows, CopyRun at, const Copy& copy, std::size_t level = 0) const;

  std::array<Axis, kDimensionsMax> axes_{};  // of rows, slowest first
  std::size_t axis_count_ = 0;
  std::uint64_t rows_ = 1;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t block_base_ = 0;
  std::uint64_t memory_base_ = 0;
};

}  // namespace forebay::format
