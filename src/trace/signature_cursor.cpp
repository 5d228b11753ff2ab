// SPDX-License-Identifier: Apache-2.0
// SignatureCursor: a stack of positions in the items of nested loops.
#include "trace/signature_cursor.hpp"

#include <cstdint>
#include <limits>
#include <utility>
#include <variant>

#include "base/assert.hpp"

namespace forebay::trace {

namespace {

constexpr std::size_t kStepsMax = std::size_t{1} << 16U;

}  // namespace

SignatureCursor::SignatureCursor(std::shared_ptr<const Signature> signature)
    : signature_(std::move(signature)) {
  levels_[0].items = &signature_->items;
  find_access();
}

bool SignatureCursor::is_done() const noexcept { return is_done_; }

const Access& SignatureCursor::current() const noexcept {
  FOREBAY_ASSERT(!is_done_);
  return current_;
}

std::uint64_t SignatureCursor::position() const noexcept { return position_; }

void SignatureCursor::advance() {
  FOREBAY_ASSERT(!is_done_);
  ++position_;
  leave_access();
  find_access();
}

void SignatureCursor::leave_access() {
  Level& level = levels_[depth_];
  const auto* const list = std::get_if<ListItem>(&(*level.items)[level.item]);
  if (list != nullptr && ++level.list_index < list->accesses.size()) return;
  level.list_index = 0;
  ++level.item;
}

void SignatureCursor::find_access() {
  for (std::size_t step = 0; step < kStepsMax && !is_done_; ++step) {
    const Level& level = levels_[depth_];
    if (level.item == level.items->size()) {
      end_repetition();
      continue;
    }
    const Item& item = (*level.items)[level.item];
    if (const auto* const access = std::get_if<AccessItem>(&item)) return load(*access);
    if (const auto* const list = std::get_if<ListItem>(&item))
      return load(list->accesses[level.list_index]);
    enter(std::get<LoopItem>(item));
  }
  is_done_ = true;
}

void SignatureCursor::enter(const LoopItem& loop) {
  const std::int64_t count = loop.count.at(indexes_);
  if (count <= 0) {
    ++levels_[depth_].item;
    return;
  }
  ++depth_;
  levels_[depth_] = {.items = &loop.items, .count = count};
}

void SignatureCursor::end_repetition() {
  if (depth_ == 0) {
    is_done_ = true;
    return;
  }
  std::int64_t& index = indexes_[depth_ - 1];
  if (++index < levels_[depth_].count) {
    levels_[depth_].item = 0;
    return;
  }
  index = 0;
  --depth_;
  ++levels_[depth_].item;
}

void SignatureCursor::load(const AccessItem& item) {
  load(ByteRange{static_cast<std::uint64_t>(item.offset.at(indexes_)),
                 static_cast<std::uint64_t>(item.size.at(indexes_))});
  if (!item.interval_ns || position_ == 0) return;
  if (__builtin_add_overflow(current_.begin_ns, item.interval_ns->at(indexes_), &current_.begin_ns))
    current_.begin_ns = std::numeric_limits<std::int64_t>::max();
}

void SignatureCursor::load(const ByteRange& range) {
  current_.offset = range.offset;
  current_.size = range.size;
}

}  // namespace forebay::trace
