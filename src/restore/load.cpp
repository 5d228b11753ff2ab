// SPDX-License-Identifier: Apache-2.0
#include "restore/load.hpp"

#include <algorithm>
#include <tuple>

#include "base/assert.hpp"

namespace forebay::restore {

void sort(WantList& list) {
  std::sort(list.wants.begin(), list.wants.end(), [](const BlockWant& a, const BlockWant& b) {
    return std::tie(a.place.file, a.offset, a.raw.offset, a.into) <
           std::tie(b.place.file, b.offset, b.raw.offset, b.into);
  });
}

LoadCursor::LoadCursor(const WantList& list, Extents extents) : list_(&list), extents_(extents) {
  find_next();
}

/// False for a want of nothing.
bool LoadCursor::enter_want() {
  const BlockWant& want = list_->wants[want_];
  entered_ = true;
  if (want.raw.empty()) return false;
  block_ = list_->step->block(want.place);
  const format::PieceRange pieces = format::pieces_of(want.raw);
  piece_ = pieces.first;
  piece_end_ = pieces.first + pieces.count;
  return true;
}

void LoadCursor::find_next() {
  has_next_ = false;
  while (want_ < list_->wants.size()) {
    const BlockWant& want = list_->wants[want_];
    if (!entered_ && !enter_want()) piece_ = piece_end_ = 0;
    while (piece_ < piece_end_ && !has_next_) {
      const ByteRange wanted = intersect(block_.raw_range(piece_), want.raw);
      const ByteRange raw = want.box == kNoBox ? wanted : list_->boxes[want.box].hull_in(wanted);
      if (!raw.empty()) set_piece(want, raw);
      ++piece_;
    }
    if (has_next_) return;
    entered_ = false;
    ++want_;
  }
}

void LoadCursor::set_piece(const BlockWant& want, ByteRange raw) {
  ByteRange stored = block_.stored_range(piece_);
  if (extents_ == Extents::kWantedOnly && block_.codec == format::Codec::kNone)
    stored = {block_.offset + raw.offset, raw.size};
  next_ = {.want = &want, .piece = piece_, .stored = stored, .raw = raw};
  next_file_ = want.place.file;
  has_next_ = true;
}

Load LoadCursor::next() {
  FOREBAY_ASSERT(has_next_);
  Load load{.file = next_file_, .stored = next_.stored, .pieces = {next_}};
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

bool is_dense(const WantList& list) {
  constexpr std::uint64_t kDense = 4;
  std::uint64_t wanted = 0;
  std::uint64_t spanned = 0;
  std::uint64_t end = 0;
  const BlockWant* before = nullptr;
  for (const BlockWant& want : list.wants) {
    const std::uint64_t begin = want.offset + want.raw.offset;
    const bool in_new_file = before == nullptr || before->place.file != want.place.file;
    if (in_new_file) end = begin;
    const std::uint64_t reached = std::max(end, want.offset + want.raw.end());
    wanted += want.raw.size;
    spanned += reached - end;
    end = reached;
    before = &want;
  }
  return spanned <= kDense * wanted;
}

}  // namespace forebay::restore
