// SPDX-License-Identifier: Apache-2.0
#include "read/core.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace forebay::read {

namespace {

/// Three times what the device works on, so that it never waits for the request's owner to wake up;
/// but never all of the window.
std::uint32_t splinters_ahead(const ReadPlan& plan) {
  const std::uint32_t under_way =
      in_splinters(plan.queue_depth * plan.request_bytes, plan.splinter_bytes);
  const std::uint32_t slots = in_splinters(plan.window_bytes, plan.splinter_bytes);
  return std::max(1U, std::min(3 * under_way, slots / 4 * 3));
}

}  // namespace

SessionCore::SessionCore(Facts facts)
    : facts_(std::move(facts)),
      geometry_(facts_.extent, facts_.plan.splinter_bytes),
      splinter_shift_(static_cast<unsigned>(std::countr_zero(facts_.plan.splinter_bytes))),
      ahead_splinters_(splinters_ahead(facts_.plan)) {}

SessionCore::~SessionCore() = default;

void SessionCore::add_ring(const RingMapping& ring) {
  rings_.push_back(ring);
  ring_.store(&rings_.back(), std::memory_order_release);
}

const std::byte* SessionCore::run_address(SplinterIndex first, SplinterIndex last) noexcept {
  const std::uint32_t slots = books_.header().slots.load(std::memory_order_acquire);
  if (slots != ring_.load(std::memory_order_acquire)->slots) follow_growth(slots);
  const RingMapping& ring = *ring_.load(std::memory_order_acquire);
  const std::uint32_t start = books_[first].slot();
  for (SplinterIndex splinter = first; splinter <= last; ++splinter) {
    if (books_[splinter].slot() != (start + (splinter - first)) % ring.slots) return nullptr;
  }
  // The slots after the last one are mapped again behind it: a run that wraps around needs no
  // special case.
  return ring.base + (std::uint64_t{start} << splinter_shift_);
}

void SessionCore::released(SplinterIndex splinter, std::uint32_t slot, shm::Stall stall) noexcept {
  // If the slot has another splinter by now, the reading side has seen that it was free.
  const bool retired = books_.served_bytes(slot) >= Schedule::retires_at(books_[splinter]);
  if (stall == shm::Stall::kUntilReleased || retired) tell_of_released_memory();
}

Error SessionCore::closed_error() const {
  if (is_from_parent()) return detail::made_before_fork({.operation = "read", .path = path()});
  return Error({.kind = ErrorClass::kClosed,
                .operation = "read",
                .path = path(),
                .cause = "the session was closed"});
}

Error SessionCore::no_memory_error(const ByteRange& range) const {
  return Error({.kind = ErrorClass::kLimit,
                .operation = "read",
                .path = path(),
                .offset_bytes = range.offset,
                .cause = "no memory for a copy of " + std::to_string(range.size) +
                         " bytes; views of others hold the session's window"});
}

}  // namespace forebay::read
