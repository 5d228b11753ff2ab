// SPDX-License-Identifier: Apache-2.0
#include "restore/load_cursor.hpp"

#include <algorithm>
#include <tuple>

#include "base/assert.hpp"

namespace forebay::restore {

void sort(BlockRequestList& list) {
  std::sort(list.requests.begin(), list.requests.end(),
            [](const BlockRequest& a, const BlockRequest& b) {
              return std::tie(a.location.file, a.offset, a.raw.offset, a.memory_offset) <
                     std::tie(b.location.file, b.offset, b.raw.offset, b.memory_offset);
            });
}

LoadCursor::LoadCursor(const BlockRequestList& list, PieceReadMode read_mode)
    : list_(&list), read_mode_(read_mode) {
  find_next();
}

/// False for an empty request.
bool LoadCursor::enter_block() {
  const BlockRequest& block_request = list_->requests[block_index_];
  has_block_ = true;
  if (block_request.raw.empty()) return false;
  block_ = list_->step->block(block_request.location);
  const format::PieceRange pieces = format::piece_range_of(block_request.raw);
  piece_ = pieces.first;
  piece_end_ = pieces.first + pieces.count;
  return true;
}

void LoadCursor::find_next() {
  has_next_ = false;
  while (block_index_ < list_->requests.size()) {
    const BlockRequest& block_request = list_->requests[block_index_];
    if (!has_block_ && !enter_block()) piece_ = piece_end_ = 0;
    while (piece_ < piece_end_ && !has_next_) {
      const ByteRange requested = intersect(block_.raw_range(piece_), block_request.raw);
      const ByteRange raw = block_request.box == kNoBox
                                ? requested
                                : list_->boxes[block_request.box].hull_in(requested);
      if (!raw.empty()) set_piece(block_request, raw);
      ++piece_;
    }
    if (has_next_) return;
    has_block_ = false;
    ++block_index_;
  }
}

void LoadCursor::set_piece(const BlockRequest& block_request, ByteRange raw) {
  ByteRange stored = block_.stored_range(piece_);
  if (read_mode_ == PieceReadMode::kRequestedOnly && block_.codec == format::Codec::kNone)
    stored = {block_.offset + raw.offset, raw.size};
  next_ = {.block_request = &block_request, .piece = piece_, .stored = stored, .raw = raw};
  next_file_ = block_request.location.file;
  has_next_ = true;
}

PieceLoad LoadCursor::next() {
  FOREBAY_ASSERT(has_next_);
  PieceLoad load{.file = next_file_, .stored = next_.stored, .pieces = {next_}};
  for (find_next(); has_next_ && next_file_ == load.file; find_next()) {
    const ByteRange& more = next_.stored;
    const std::uint64_t end = std::max(load.stored.end(), more.end());
    const bool fits = more.offset >= load.stored.offset &&
                      more.offset <= load.stored.end() + kGapBytesMax &&
                      end - load.stored.offset <= kLoadBytesMax;
    if (!fits) break;
    load.stored.size = end - load.stored.offset;
    load.pieces.push_back(next_);
  }
  return load;
}

bool is_dense(const BlockRequestList& list) {
  constexpr std::uint64_t kDense = 4;
  std::uint64_t requested = 0;
  std::uint64_t spanned = 0;
  std::uint64_t end = 0;
  const BlockRequest* before = nullptr;
  for (const BlockRequest& block_request : list.requests) {
    const std::uint64_t begin = block_request.offset + block_request.raw.offset;
    const bool in_new_file =
        before == nullptr || before->location.file != block_request.location.file;
    if (in_new_file) end = begin;
    const std::uint64_t reached = std::max(end, block_request.offset + block_request.raw.end());
    requested += block_request.raw.size;
    spanned += reached - end;
    end = reached;
    before = &block_request;
  }
  return spanned <= kDense * requested;
}

}  // namespace forebay::restore
