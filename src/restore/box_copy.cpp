// SPDX-License-Identifier: Apache-2.0
#include "restore/box_copy.hpp"

#include "base/assert.hpp"

namespace forebay::restore {

BoxCopy::BoxCopy(const format::Box& block,
                 const format::Box& selection,
                 std::uint64_t element_bytes) {
  const std::size_t dimensions = block.start.size();
  FOREBAY_ASSERT(dimensions == selection.start.size());
  FOREBAY_ASSERT(dimensions <= axes_.size());
  std::uint64_t block_stride = element_bytes;
  std::uint64_t memory_stride = element_bytes;
  row_bytes_ = element_bytes;
  bool in_row = true;  // all later dimensions are contiguous in both
  std::array<Axis, format::kDimensionsMax> inner_first{};
  for (std::size_t d = dimensions; d-- > 0;) {
    const ByteRange ours{block.start[d], block.count[d]};
    const ByteRange requested{selection.start[d], selection.count[d]};
    const ByteRange shared = intersect(ours, requested);
    FOREBAY_ASSERT(!shared.empty());
    block_base_ += (shared.offset - ours.offset) * block_stride;
    memory_base_ += (shared.offset - requested.offset) * memory_stride;
    if (in_row) {
      row_bytes_ *= shared.size;
    } else if (shared.size > 1) {
      inner_first[axis_count_++] = {shared.size, block_stride, memory_stride};
      rows_ *= shared.size;
    }
    in_row = in_row && shared == ours && shared == requested;
    block_stride *= ours.size;
    memory_stride *= requested.size;
  }
  for (std::size_t i = 0; i < axis_count_; ++i)
    axes_[i] = inner_first[axis_count_ - 1 - i];
}

CopyRun BoxCopy::run(std::uint64_t row) const noexcept {
  CopyRun run{block_base_, memory_base_, row_bytes_};
  for (std::size_t i = axis_count_; i-- > 0;) {
    const std::uint64_t index = row % axes_[i].count;
    row /= axes_[i].count;
    run.block_offset += index * axes_[i].block_stride;
    run.memory_offset += index * axes_[i].memory_stride;
  }
  return run;
}

/// Rows are in ascending order in the block.
std::uint64_t BoxCopy::first_row_after(std::uint64_t block_offset) const noexcept {
  std::uint64_t first = 0;
  std::uint64_t last = rows_;
  while (first < last) {
    const std::uint64_t middle = first + (last - first) / 2;
    if (run(middle).block_offset + row_bytes_ <= block_offset) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

ByteRange BoxCopy::hull() const noexcept {
  const CopyRun last = run(rows_ - 1);
  return {block_base_, last.block_offset + last.bytes - block_base_};
}

ByteRange BoxCopy::hull_in(ByteRange raw) const noexcept {
  const std::uint64_t first = first_row_after(raw.offset);
  if (raw.empty() || first == rows_) return {};
  const CopyRun begin = run(first);
  if (begin.block_offset >= raw.end()) return {};
  // The last row that begins before the end of `raw`.
  std::uint64_t last = first_row_after(raw.end());
  if (last == rows_ || run(last).block_offset >= raw.end()) --last;
  const CopyRun end = run(last);
  return intersect({begin.block_offset, end.block_offset + end.bytes - begin.block_offset}, raw);
}

}  // namespace forebay::restore
