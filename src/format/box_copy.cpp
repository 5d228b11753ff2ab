// SPDX-License-Identifier: Apache-2.0
#include "format/box_copy.hpp"

#include <algorithm>
#include <span>

#include "base/assert.hpp"
#include "format/grid_copy.hpp"

namespace forebay::format {

BoxCopy::BoxCopy(const Box& block, const Box& selection, std::uint64_t element_bytes)
    : BoxCopy(block, selection, packed_placement(selection.count, element_bytes), element_bytes) {}

BoxCopy::BoxCopy(const Box& block,
                 const Box& selection,
                 const MemoryPlacement& memory,
                 std::uint64_t element_bytes)
    : row_bytes_(element_bytes), memory_base_(memory.offset) {
  const std::size_t dimensions = block.start.size();
  FOREBAY_ASSERT(dimensions == selection.start.size());
  FOREBAY_ASSERT(dimensions == memory.strides.size());
  FOREBAY_ASSERT(dimensions <= axes_.size());
  std::uint64_t block_stride = element_bytes;
  for (std::size_t d = dimensions; d-- > 0;) {
    const ByteRange ours{block.start[d], block.count[d]};
    const ByteRange requested{selection.start[d], selection.count[d]};
    const ByteRange shared = intersect(ours, requested);
    FOREBAY_ASSERT(!shared.empty());
    block_base_ += (shared.offset - ours.offset) * block_stride;
    memory_base_ += (shared.offset - requested.offset) * memory.strides[d];
    if (shared.size > 1) add_axis({shared.size, block_stride, memory.strides[d]});
    block_stride *= ours.size;
  }
  std::reverse(axes_.begin(), axes_.begin() + axis_count_);
}

/// Fastest axes first. An axis that continues the row, or the axis before, extends it.
void BoxCopy::add_axis(const Axis& axis) noexcept {
  if (axis_count_ == 0 && axis.block_stride == row_bytes_ && axis.memory_stride == row_bytes_) {
    row_bytes_ *= axis.count;
    return;
  }
  rows_ *= axis.count;
  if (axis_count_ > 0) {
    Axis& before = axes_[axis_count_ - 1];
    if (axis.block_stride == before.count * before.block_stride &&
        axis.memory_stride == before.count * before.memory_stride) {
      before.count *= axis.count;
      return;
    }
  }
  axes_[axis_count_++] = axis;
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

/// Calls copy(first, axes) for grids of runs of equal size, of which `first` is the first one.
/// Rows that are cut by an end of `raw` are grids without axes.
template <class Copy>
void BoxCopy::for_each_grid(ByteRange raw, const Copy& copy) const {
  const auto copy_part = [&](const CopyRun& whole) {
    const ByteRange part = intersect({whole.block_offset, whole.bytes}, raw);
    const std::uint64_t skipped = part.offset - whole.block_offset;
    if (!part.empty()) copy(CopyRun{part.offset, whole.memory_offset + skipped, part.size}, {});
  };
  std::uint64_t first = first_row_after(raw.offset);
  if (first < rows_ && run(first).block_offset < raw.offset) copy_part(run(first++));
  const std::uint64_t last = first_row_after(raw.end());
  if (first < last) split_rows({first, last}, {block_base_, memory_base_, row_bytes_}, copy);
  if (first <= last && last < rows_) copy_part(run(last));
}

/// Splits the rows into grids: those of a first incomplete index of the slowest axis, those of all
/// complete ones, those of a last incomplete one.
template <class Copy>
void BoxCopy::split_rows(RowRange rows, CopyRun at, const Copy& copy, std::size_t level) const {
  if (level == axis_count_) return copy(at, {});
  const Axis& axis = axes_[level];
  std::uint64_t inner = 1;
  for (std::size_t i = level + 1; i < axis_count_; ++i)
    inner *= axes_[i].count;
  const auto at_index = [&](std::uint64_t index) {
    return CopyRun{at.block_offset + index * axis.block_stride,
                   at.memory_offset + index * axis.memory_stride, at.bytes};
  };
  std::uint64_t first = rows.first / inner;
  const std::uint64_t last = rows.last / inner;
  if (const std::uint64_t skipped = rows.first % inner; skipped > 0) {
    const std::uint64_t end = std::min(inner, rows.last - first * inner);
    split_rows({skipped, end}, at_index(first), copy, level + 1);
    ++first;
  }
  if (first < last) {
    std::array<Axis, kDimensionsMax> complete = axes_;
    complete[level].count = last - first;
    copy(at_index(first), std::span(complete).subspan(level, axis_count_ - level));
  }
  if (const std::uint64_t rest = rows.last % inner; rest > 0 && first <= last)
    split_rows({0, rest}, at_index(last), copy, level + 1);
}

void BoxCopy::to_block(ByteRange raw, std::byte* block, const std::byte* memory) const {
  for_each_grid(raw, [&](const CopyRun& first, std::span<const Axis> axes) {
    std::array<GridAxis, kDimensionsMax> grid{};
    std::ranges::transform(axes, grid.begin(), [](const Axis& axis) {
      return GridAxis{axis.count, axis.memory_stride, axis.block_stride};
    });
    copy_grid(block + (first.block_offset - raw.offset), memory + first.memory_offset,
              std::span(grid).first(axes.size()), first.bytes);
  });
}

void BoxCopy::to_memory(ByteRange raw, const std::byte* block, std::byte* memory) const {
  for_each_grid(raw, [&](const CopyRun& first, std::span<const Axis> axes) {
    std::array<GridAxis, kDimensionsMax> grid{};
    std::ranges::transform(axes, grid.begin(), [](const Axis& axis) {
      return GridAxis{axis.count, axis.block_stride, axis.memory_stride};
    });
    copy_grid(memory + first.memory_offset, block + (first.block_offset - raw.offset),
              std::span(grid).first(axes.size()), first.bytes);
  });
}

}  // namespace forebay::format
