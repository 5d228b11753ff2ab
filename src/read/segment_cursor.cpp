// SPDX-License-Identifier: Apache-2.0
// Lists are sorted and merged once. Blocks are normalized: a dimension that the block covers
// completely is merged into the next faster one, so rows are as long as the file allows.
#include "read/segment_cursor.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

namespace forebay::read {

namespace {

std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

tl::unexpected<Error> bad_block(ErrorClass kind, std::string cause) {
  return failure(
      {.kind = kind, .operation = "read a block of an array", .cause = std::move(cause)});
}

/// One dimension; stored slowest first, whatever the order in the file.
struct Axis {
  std::uint64_t shape;
  std::uint64_t start;
  std::uint64_t count;
};

Status check_block(const Subarray& block) {
  const std::size_t rank = block.shape.size();
  if (block.start.size() != rank || block.count.size() != rank) {
    return bad_block(ErrorClass::kInvalidArgument,
                     "shape, start and count must have the same number of dimensions, not " +
                         std::to_string(rank) + ", " + std::to_string(block.start.size()) +
                         " and " + std::to_string(block.count.size()));
  }
  if (rank > SegmentCursor::kDimensionsMax) {
    return bad_block(ErrorClass::kLimit, "an array may have at most " +
                                             std::to_string(SegmentCursor::kDimensionsMax) +
                                             " dimensions");
  }
  if (block.element_bytes == 0)
    return bad_block(ErrorClass::kInvalidArgument, "elements have 0 bytes; pass their size");
  for (std::size_t d = 0; d < rank; ++d) {
    if (block.start[d] > block.shape[d] || block.count[d] > block.shape[d] - block.start[d]) {
      return bad_block(ErrorClass::kInvalidArgument,
                       "dimension " + std::to_string(d) + ": start " +
                           std::to_string(block.start[d]) + " and count " +
                           std::to_string(block.count[d]) + " exceed the array's " +
                           std::to_string(block.shape[d]));
    }
  }
  return {};
}

std::vector<Axis> axes_of(const Subarray& block) {
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < block.shape.size(); ++d) {
    axes.push_back({block.shape[d], block.start[d], block.count[d]});
  }
  if (block.order == ArrayOrder::kFortran) std::reverse(axes.begin(), axes.end());
  return axes;
}

}  // namespace

SegmentCursor::SegmentCursor(ByteRange range)
    : current_{range.offset, range.size, 0}, total_bytes_(range.size), bounds_(range) {}

SegmentCursor SegmentCursor::of_ranges(std::span<const ByteRange> ranges) {
  std::vector<Segment> segments;
  segments.reserve(ranges.size());
  std::uint64_t buffer_offset = 0;
  for (const ByteRange& range : ranges) {
    if (!range.empty()) segments.push_back({range.offset, range.size, buffer_offset});
    // saturates: too large for any buffer
    buffer_offset = ByteRange{buffer_offset, range.size}.end();
  }
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
    return std::tie(a.file_offset, a.buffer_offset) < std::tie(b.file_offset, b.buffer_offset);
  });
  std::vector<Segment> merged;
  std::uint64_t last = 0;
  for (const Segment& segment : segments) {
    last = std::max(last, ByteRange{segment.file_offset, segment.size}.end());
    const bool continues =
        !merged.empty() && merged.back().end() == segment.file_offset &&
        merged.back().buffer_offset + merged.back().size == segment.buffer_offset;
    if (continues) {
      merged.back().size += segment.size;
    } else {
      merged.push_back(segment);
    }
  }
  SegmentCursor cursor;
  cursor.total_bytes_ = buffer_offset;
  if (merged.empty()) return cursor;
  cursor.bounds_ = {merged.front().file_offset, last - merged.front().file_offset};
  cursor.current_ = merged.front();
  cursor.list_ = std::make_shared<const std::vector<Segment>>(std::move(merged));
  return cursor;
}

Result<SegmentCursor> SegmentCursor::of_block(const Subarray& block, std::uint64_t array_offset) {
  if (auto checked = check_block(block); !checked) return failure(checked.error());
  const std::vector<Axis> axes = axes_of(block);

  // Checked first: the arithmetic below is unchecked.
  std::optional<std::uint64_t> array_bytes = block.element_bytes;
  for (const Axis& axis : axes)
    array_bytes = array_bytes ? checked_product(*array_bytes, axis.shape) : array_bytes;
  if (!array_bytes || *array_bytes > UINT64_MAX - array_offset) {
    return bad_block(ErrorClass::kOutOfRange, "the array ends past 2^64 bytes");
  }

  SegmentCursor cursor;
  cursor.row_bytes_ = block.element_bytes;
  cursor.block_offset_ = array_offset;
  cursor.rows_ = 1;
  std::uint64_t stride_bytes = block.element_bytes;
  bool contiguous = true;  // true while all faster dimensions are covered completely
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    cursor.block_offset_ += axis->start * stride_bytes;
    if (contiguous) {
      cursor.row_bytes_ *= axis->count;
    } else if (axis->count != 1) {
      cursor.outer_.at(cursor.outer_count_++) = {axis->count, stride_bytes, 0};
    }
    if (!contiguous) cursor.rows_ *= axis->count;
    contiguous = contiguous && axis->count == axis->shape;
    stride_bytes *= axis->shape;
  }
  std::reverse(cursor.outer_.begin(),
               cursor.outer_.begin() + static_cast<std::ptrdiff_t>(cursor.outer_count_));
  cursor.total_bytes_ = cursor.row_bytes_ * cursor.rows_;
  if (cursor.total_bytes_ == 0) return cursor;

  std::uint64_t last_row = cursor.block_offset_;
  for (std::size_t d = 0; d < cursor.outer_count_; ++d) {
    last_row += (cursor.outer_.at(d).count - 1) * cursor.outer_.at(d).stride_bytes;
  }
  cursor.bounds_ = {cursor.block_offset_, last_row + cursor.row_bytes_ - cursor.block_offset_};
  cursor.current_ = {cursor.block_offset_, cursor.row_bytes_, 0};
  return cursor;
}

void SegmentCursor::advance(std::uint64_t bytes) noexcept {
  consumed_bytes_ += bytes;
  current_.file_offset += bytes;
  current_.buffer_offset += bytes;
  current_.size -= bytes;
  if (current_.size == 0) next_segment();
}

void SegmentCursor::next_segment() noexcept {
  if (list_ != nullptr) {
    ++position_;
    if (position_ < list_->size()) current_ = (*list_)[position_];
    return;
  }
  if (row_ + 1 < rows_) next_row();
}

void SegmentCursor::next_row() noexcept {
  ++row_;
  for (std::size_t d = outer_count_; d > 0; --d) {
    Dimension& dimension = outer_[d - 1];
    if (++dimension.index < dimension.count) break;
    dimension.index = 0;
  }
  std::uint64_t offset = block_offset_;
  for (std::size_t d = 0; d < outer_count_; ++d)
    offset += outer_[d].index * outer_[d].stride_bytes;
  current_ = {offset, row_bytes_, row_ * row_bytes_};
}

}  // namespace forebay::read
