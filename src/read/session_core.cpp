// SPDX-License-Identifier: Apache-2.0
#include "read/session_core.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace forebay::read {

namespace {

/// Three times the splinters in flight, so that the device never waits until the request's owner
/// wakes up; at most three quarters of the window.
std::uint32_t lookahead_of(const ReadPlan& plan) {
  const std::uint32_t in_flight = splinter_count(
      plan.tuning.queue_depth * plan.tuning.request_bytes, plan.tuning.splinter_bytes);
  const std::uint32_t slots = splinter_count(plan.tuning.window_bytes, plan.tuning.splinter_bytes);
  return std::max(1U, std::min(3 * in_flight, slots / 4 * 3));
}

}  // namespace

SessionCore::SessionCore(Properties properties)
    : properties_(std::move(properties)),
      geometry_(properties_.extent, properties_.plan.tuning.splinter_bytes),
      splinter_shift_(
          static_cast<unsigned>(std::countr_zero(properties_.plan.tuning.splinter_bytes))),
      lookahead_splinters_(lookahead_of(properties_.plan)) {}

SessionCore::~SessionCore() = default;

void SessionCore::add_mapping(const WindowMapping& mapping) {
  mappings_.push_back(mapping);
  mapping_.store(&mappings_.back(), std::memory_order_release);
}

const std::byte* SessionCore::run_address(SplinterIndex first, SplinterIndex last) noexcept {
  const std::uint32_t slots = control_block_.header().slots.load(std::memory_order_acquire);
  if (slots != mapping_.load(std::memory_order_acquire)->slots) map_grown_window(slots);
  const WindowMapping& mapping = *mapping_.load(std::memory_order_acquire);
  const std::uint32_t start = control_block_[first].slot();
  for (SplinterIndex splinter = first; splinter <= last; ++splinter) {
    if (control_block_[splinter].slot() != (start + (splinter - first)) % mapping.slots)
      return nullptr;
  }
  // The mapping repeats the slots behind the last one, so a run that wraps around needs no special
  // case.
  return mapping.base + (std::uint64_t{start} << splinter_shift_);
}

void SessionCore::handle_unpin(SplinterIndex splinter,
                               std::uint32_t slot,
                               shm::MemoryWait memory_wait) noexcept {
  // If the slot holds another splinter by now, the agent has already reused it: no harm.
  const bool is_consumed = control_block_.served_bytes(slot) >=
                           LoadScheduler::bytes_per_reader(control_block_[splinter]);
  if (memory_wait == shm::MemoryWait::kUntilReleased || is_consumed) notify_memory_released();
}

AccessOutcome SessionCore::outcome_of(const ByteRange& range) const noexcept {
  if (!is_window_current()) return AccessOutcome::kMiss;
  AccessOutcome outcome = AccessOutcome::kHit;
  const SplinterIndex last = geometry_.index_at(range.end() - 1);
  for (SplinterIndex splinter = geometry_.index_at(range.offset); splinter <= last; ++splinter) {
    const shm::ResidencyEntry& entry = control_block_[splinter];
    const shm::Residency residency = entry.load().residency();
    const bool is_ready = residency == shm::Residency::kReady;
    if (is_ready && entry.valid().covers(geometry_.part_of(range, splinter))) continue;
    if (residency == shm::Residency::kAbsent) return AccessOutcome::kMiss;
    outcome = std::max(outcome, is_ready ? AccessOutcome::kPartial : AccessOutcome::kLate);
  }
  return outcome;
}

SessionReport SessionCore::report() const {
  SessionReport report = make_report();
  if (observer_) observer_->add_counts(report.prefetch);
  return report;
}

void SessionCore::close() {
  close_session();  // first: a function that waits for bytes of this session returns
  if (observer_) observer_->stop();
  if (on_closed_ && !is_close_reported_.exchange(true)) {
    on_closed_(report().bytes_served);
    on_closed_ = nullptr;
  }
}

Error SessionCore::closed_error() const {
  if (is_from_parent()) return detail::fork_error({.operation = "read", .path = path()});
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
                         " bytes; views hold the session's window: release some"});
}

}  // namespace forebay::read
