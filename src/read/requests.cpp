// SPDX-License-Identifier: Apache-2.0
#include "read/requests.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"

namespace forebay::read {

namespace {

/// After so many fruitless polls an owner is one that polls, and did not just come too early ...
constexpr std::uint32_t kPollsUntilHelpless = 2;
/// ... and counts as blocked: it may be spinning on this request alone.
constexpr std::uint32_t kPollsUntilBlocked = 64;

Urgency urgency_after(std::uint32_t fruitless) {
  if (fruitless == 0) return Urgency::kAsked;
  if (fruitless < kPollsUntilHelpless) return Urgency::kAwaited;
  return fruitless < kPollsUntilBlocked ? Urgency::kAwaitedHelpless : Urgency::kBlocked;
}

}  // namespace

Result<Presence> SplinterWait::ask(SplinterIndex splinter, ValidBytes part, Precision precision) {
  if (need_.splinter != splinter) need_.number = 0;
  need_ = {.splinter = splinter, .part = part, .precision = precision, .number = need_.number};
  const Urgency urgency = urgency_after(fruitless_);
  fruitless_ = std::min(fruitless_ + 1, kPollsUntilBlocked);
  return core_->want(need_, urgency);
}

bool SplinterWait::arm(detail::Waiter& waiter) {
  return copy_ ? copy_->arm(waiter) : core_->arm(need_, waiter);
}

void SplinterWait::disarm(detail::Waiter& waiter) noexcept {
  if (copy_) copy_->disarm(waiter);
  core_->disarm(need_.splinter, waiter);
}

ErrorDetails SplinterWait::describe(std::uint64_t offset) const {
  return {.operation = "read", .path = core_->path(), .offset_bytes = offset};
}

GatherRead::GatherRead(std::shared_ptr<SessionCore> core,
                       const ExtentCursor& cursor,
                       std::span<std::byte> into)
    : wait_(std::move(core)), take_(cursor), ask_(cursor), into_(into) {}

ErrorDetails GatherRead::describe() const {
  return wait_.describe(take_.done() ? take_.bounds().offset : take_.current().file_offset);
}

Result<ByteCount> GatherRead::take() {
  if (error_) return failure(*error_);
  return take_.total_bytes();
}

bool GatherRead::advance() {
  while (!finished()) {
    const bool further = wait_.copy() != nullptr ? take_copy() : take_splinter();
    if (!further) return false;
  }
  return true;
}

bool GatherRead::take_splinter() {
  SessionCore& core = wait_.core();
  const Geometry& geometry = core.geometry();
  const Piece piece = take_.current();
  const SplinterIndex splinter = geometry.index_at(piece.file_offset);
  const ValidBytes part = geometry.part_of({piece.file_offset, piece.size}, splinter);
  if (std::exchange(splinter_, splinter) != splinter && asked_count_ > 0) --asked_count_;
  if (core.pin(splinter, part)) {
    const ByteRange held = geometry.range_of(splinter, core.valid(splinter));
    const std::byte* const bytes =
        core.address(splinter) + (held.offset - geometry.start_of(splinter));
    const std::uint64_t reached = copy_pieces(held, geometry.start_of(splinter + 1), bytes);
    // What lies between the pieces counts as served: this request will not come back for it.
    core.unpin(splinter, static_cast<std::uint32_t>(reached - piece.file_offset));
    wait_.progressed();
    return true;
  }
  ask_ahead();
  ExtentCursor ahead = take_;
  const ValidBytes needed = hull_ahead(ahead, splinter);
  const auto presence = wait_.ask(splinter, needed, precision());
  if (!presence) {
    error_ = presence.error();
    return true;
  }
  if (*presence == Presence::kStarved) wait_.read_privately(geometry.range_of(splinter, needed));
  return *presence != Presence::kComing;
}

bool GatherRead::take_copy() {
  const PrivateRead& copy = *wait_.copy();
  if (!copy.finished()) return false;
  if (copy.error()) {
    error_ = copy.error();
  } else {
    copy_pieces(copy.range(), copy.range().end(), copy.bytes());
  }
  wait_.drop_copy();
  return true;
}

std::uint64_t GatherRead::copy_pieces(const ByteRange& held,
                                      std::uint64_t limit,
                                      const std::byte* bytes) {
  std::uint64_t reached = take_.current().file_offset;
  while (!take_.done()) {
    const Piece& piece = take_.current();
    const std::uint64_t end = std::min(piece.end(), limit);
    if (piece.file_offset < held.offset || piece.file_offset >= limit || end > held.end()) break;
    const std::uint64_t size = end - piece.file_offset;
    std::memcpy(into_.data() + piece.user_offset, bytes + (piece.file_offset - held.offset), size);
    reached = std::max(reached, end);
    take_.advance(size);
  }
  return reached;
}

ValidBytes GatherRead::hull_ahead(ExtentCursor& cursor, SplinterIndex splinter) const {
  const Geometry& geometry = wait_.core().geometry();
  ValidBytes all_parts;
  while (!cursor.done() && geometry.index_at(cursor.current().file_offset) == splinter) {
    const Piece& piece = cursor.current();
    const ValidBytes part = geometry.part_of({piece.file_offset, piece.size}, splinter);
    all_parts = hull(all_parts, part);
    cursor.advance(part.size());
  }
  return all_parts;
}

/// So far as a reader of everything would ask; a request whose pieces lie further apart asks for a
/// few, in batches, as each time it is told of something new an agent may have to wake up. What was
/// there already was never asked for: then this goes on from where take_ is.
void GatherRead::ask_ahead() {
  SessionCore& core = wait_.core();
  const Geometry& geometry = core.geometry();
  if (ask_.consumed_bytes() <= take_.consumed_bytes()) {
    ask_ = take_;
    asked_count_ = 0;
  }
  const SplinterIndex near = splinter_ + core.ahead_splinters();
  const std::uint32_t few = core.ahead_splinters() / 3;
  const bool refill = asked_count_ <= few / 2;
  while (!ask_.done()) {
    const SplinterIndex splinter = geometry.index_at(ask_.current().file_offset);
    if (splinter > near && (!refill || asked_count_ >= few)) return;
    const ValidBytes part = hull_ahead(ask_, splinter);
    core.hint({.splinter = splinter, .part = part, .precision = precision()}, Urgency::kAsked);
    ++asked_count_;
  }
}

ViewRequest::ViewRequest(std::shared_ptr<SessionCore> core, ByteRange range)
    : wait_(std::move(core)),
      range_(range),
      first_(wait_.core().geometry().index_at(range.offset)),
      last_(wait_.core().geometry().index_at(range.end() - 1)),
      next_(first_) {}

bool ViewRequest::advance() {
  SessionCore& core = wait_.core();
  while (!finished_ && wait_.copy() == nullptr && next_ <= last_) {
    if (core.pin(next_, part(next_))) {
      ++next_;
      wait_.progressed();
      continue;
    }
    const auto presence = wait_.ask(next_, part(next_), Precision::kWhole);
    if (!presence) return settle(presence.error());
    ask_for_rest();
    if (*presence == Presence::kComing) return false;
    if (*presence == Presence::kStarved) {
      unpin_all();
      wait_.read_privately(range_);
    }
  }
  if (finished_) return true;
  if (wait_.copy() == nullptr) return settle(std::nullopt);
  if (!wait_.copy()->finished()) return false;
  return settle(wait_.copy()->error());
}

/// The first one is asked for by advance(), which wants to know what came of it; the others after
/// it, so that they find room behind it.
void ViewRequest::ask_for_rest() {
  if (std::exchange(asked_, true)) return;
  for (SplinterIndex splinter = next_ + 1; splinter <= last_; ++splinter) {
    wait_.core().hint({.splinter = splinter, .part = part(splinter)}, Urgency::kAsked);
  }
}

bool ViewRequest::settle(std::optional<Error> error) {
  if (error) unpin_all();
  error_ = std::move(error);
  finished_ = true;
  return true;
}

void ViewRequest::unpin_all() noexcept {
  while (next_ > first_)
    wait_.core().unpin(--next_, 0);
}

Result<View> ViewRequest::take() {
  if (error_) return failure(*error_);
  SessionCore& core = wait_.core();
  if (PrivateRead* const copy = wait_.copy()) {
    const std::byte* const bytes = copy->bytes();
    return HandleAccess::of_copy(range_, copy->release(), bytes);
  }
  const std::uint64_t lead = range_.offset - core.geometry().start_of(first_);
  if (const std::byte* const run = core.run_address(first_, last_)) {
    next_ = first_;  // the View has the pins now
    return HandleAccess::of_window(wait_.core_pointer(), range_, run + lead);
  }
  // Its splinters lie apart in the window: contiguous all the same, at the price of a copy.
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[range_.size]);
  if (!memory) return failure(core.no_memory_error(range_));
  for (SplinterIndex splinter = first_; splinter <= last_; ++splinter) {
    const ValidBytes held = part(splinter);
    const std::uint64_t place = core.geometry().start_of(splinter) + held.first - range_.offset;
    std::memcpy(memory.get() + place, core.address(splinter) + held.first, held.size());
  }
  next_ = first_;
  HandleAccess::release(core, range_);
  core.count_copied(range_.size);
  const std::byte* const bytes = memory.get();
  return HandleAccess::of_copy(range_, std::move(memory), bytes);
}

View HandleAccess::of_window(const std::shared_ptr<SessionCore>& core,
                             ByteRange range,
                             const std::byte* bytes) {
  View view;
  view.bytes_ = {bytes, range.size};
  view.offset_ = range.offset;
  view.core_ = core;
  return view;
}

View HandleAccess::of_copy(ByteRange range,
                           std::unique_ptr<std::byte[]> memory,
                           const std::byte* bytes) {
  View view;
  view.bytes_ = {bytes, range.size};
  view.offset_ = range.offset;
  view.copy_ = std::move(memory);
  return view;
}

void HandleAccess::release(SessionCore& core, ByteRange range) noexcept {
  const Geometry& geometry = core.geometry();
  SplinterIndex splinter = geometry.index_at(range.offset);
  const SplinterIndex last = geometry.index_at(range.end() - 1);
  for (; splinter <= last; ++splinter)
    core.unpin(splinter, geometry.part_of(range, splinter).size());
}

}  // namespace forebay::read
