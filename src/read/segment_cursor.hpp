// SPDX-License-Identifier: Apache-2.0
// SegmentCursor: iterates over the contiguous segments of one request in file order. A request is a
// range, a list of ranges, or a block of an array. A cursor is small and copyable, so a request can
// look ahead with a copy. A block of a billion rows is never expanded into a list.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace forebay::read {

/// A contiguous segment: `size` bytes at `file_offset`, stored at `buffer_offset` of the caller's
/// buffer.
struct Segment {
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;
  std::uint64_t buffer_offset = 0;

  std::uint64_t end() const noexcept { return file_offset + size; }
  friend bool operator==(const Segment&, const Segment&) = default;
};

class SegmentCursor {
 public:
  static constexpr std::size_t kDimensionsMax = 16;

  /// One range.
  explicit SegmentCursor(ByteRange range);

  /// Several ranges, in any order; they may touch or overlap. Segments are sorted by file offset.
  /// Segments that are adjacent in both the file and the buffer are merged.
  static SegmentCursor of_ranges(std::span<const ByteRange> ranges);

  /// A block of an array; the array begins at `array_offset`. Fails with kInvalidArgument if the
  /// numbers of dimensions differ, the element size is 0, or the block exceeds the array. Fails
  /// with kLimit above kDimensionsMax dimensions, with kOutOfRange if the array ends past 2^64
  /// bytes.
  static Result<SegmentCursor> of_block(const Subarray& block, std::uint64_t array_offset);

  bool is_done() const noexcept { return current_.size == 0; }
  /// True for a list of ranges, even of one, and for a block of several rows: the bytes between its
  /// segments are not needed.
  bool is_scattered() const noexcept { return rows_ > 1 || list_ != nullptr; }
  /// Only while not is_done().
  const Segment& current() const noexcept { return current_; }
  /// Bytes of the whole request.
  std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  /// Bytes that advance() has consumed.
  std::uint64_t consumed_bytes() const noexcept { return consumed_bytes_; }
  /// The range from the first to the last byte of the whole request.
  ByteRange bounds() const noexcept { return bounds_; }
  /// Consumes `bytes` of the current segment, at most its size; at its end, moves to the next
  /// segment.
  void advance(std::uint64_t bytes) noexcept;

 private:
  struct Dimension {
    std::uint64_t count = 1;
    std::uint64_t stride_bytes = 0;
    std::uint64_t index = 0;
  };

  SegmentCursor() = default;
  void next_segment() noexcept;
  void next_row() noexcept;

  Segment current_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t consumed_bytes_ = 0;
  ByteRange bounds_;
  // For a list:
  std::shared_ptr<const std::vector<Segment>> list_;
  std::size_t position_ = 0;
  // For a block: an odometer over the outer dimensions, slowest first; one row is one segment.
  std::array<Dimension, kDimensionsMax> outer_{};
  std::size_t outer_count_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t row_ = 0;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t block_offset_ = 0;
};

}  // namespace forebay::read
