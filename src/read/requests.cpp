// SPDX-License-Identifier: Apache-2.0
#include "read/requests.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"

namespace forebay::read {

namespace {

/// After this many polls without success, the owner counts as polling in a loop.
constexpr std::uint32_t kPollsUntilUnassisted = 2;
/// After this many it counts as blocked: it may do nothing but poll this request.
constexpr std::uint32_t kPollsUntilBlocked = 64;

LoadPriority priority_after(std::uint32_t failed_polls) {
  if (failed_polls == 0) return LoadPriority::kRequested;
  if (failed_polls < kPollsUntilUnassisted) return LoadPriority::kAwaited;
  return failed_polls < kPollsUntilBlocked ? LoadPriority::kAwaitedUnassisted
                                           : LoadPriority::kBlocked;
}

}  // namespace

Result<Availability> SplinterWait::request(SplinterIndex splinter,
                                           SplinterPart part,
                                           LoadGranularity granularity) {
  if (request_.splinter != splinter) request_.sequence = 0;
  request_ = {.splinter = splinter,
              .part = part,
              .granularity = granularity,
              .sequence = request_.sequence};
  const LoadPriority priority = priority_after(failed_polls_);
  failed_polls_ = std::min(failed_polls_ + 1, kPollsUntilBlocked);
  return core_->request(request_, priority);
}

bool SplinterWait::arm(detail::Waiter& waiter) {
  return bypass_read_ ? bypass_read_->arm(waiter) : core_->arm(request_, waiter);
}

void SplinterWait::disarm(detail::Waiter& waiter) noexcept {
  if (bypass_read_) bypass_read_->disarm(waiter);
  core_->disarm(request_.splinter, waiter);
}

ErrorDetails SplinterWait::describe(std::uint64_t offset) const {
  return {.operation = "read", .path = core_->path(), .offset_bytes = offset};
}

GatherRead::GatherRead(std::shared_ptr<SessionCore> core,
                       const SegmentCursor& cursor,
                       std::span<std::byte> into)
    : wait_(std::move(core)), copy_cursor_(cursor), request_cursor_(cursor), into_(into) {}

ErrorDetails GatherRead::describe() const {
  return wait_.describe(copy_cursor_.is_done() ? copy_cursor_.bounds().offset
                                               : copy_cursor_.current().file_offset);
}

Result<ByteCount> GatherRead::take() {
  if (error_) return failure(*error_);
  return copy_cursor_.total_bytes();
}

bool GatherRead::advance() {
  while (!is_finished()) {
    const bool further = wait_.bypass_read() != nullptr ? copy_from_bypass() : copy_from_window();
    if (!further) return false;
  }
  return true;
}

bool GatherRead::copy_from_window() {
  SessionCore& core = wait_.core();
  const Geometry& geometry = core.geometry();
  const Segment segment = copy_cursor_.current();
  const SplinterIndex splinter = geometry.index_at(segment.file_offset);
  const SplinterPart part = geometry.part_of({segment.file_offset, segment.size}, splinter);
  if (std::exchange(splinter_, splinter) != splinter && requested_ahead_ > 0) --requested_ahead_;
  if (core.pin(splinter, part)) {
    const ByteRange held = geometry.range_of(splinter, core.valid_bytes(splinter));
    const std::byte* const bytes =
        core.address(splinter) + (held.offset - geometry.start_of(splinter));
    const std::uint64_t reached = copy_segments(held, geometry.start_of(splinter + 1), bytes);
    // The bytes between the segments count as served: this request does not read them later.
    core.unpin(splinter, static_cast<std::uint32_t>(reached - segment.file_offset));
    wait_.reset_priority();
    return true;
  }
  request_ahead();
  SegmentCursor ahead = copy_cursor_;
  const SplinterPart needed = consume_splinter(ahead, splinter);
  const auto availability = wait_.request(splinter, needed, granularity());
  if (!availability) {
    error_ = availability.error();
    return true;
  }
  if (*availability == Availability::kBypassRequired)
    wait_.start_bypass_read(geometry.range_of(splinter, needed));
  return *availability != Availability::kPending;
}

bool GatherRead::copy_from_bypass() {
  const BypassRead& copy = *wait_.bypass_read();
  if (!copy.is_finished()) return false;
  if (copy.error()) {
    error_ = copy.error();
  } else {
    copy_segments(copy.range(), copy.range().end(), copy.bytes());
  }
  wait_.drop_bypass_read();
  return true;
}

std::uint64_t GatherRead::copy_segments(const ByteRange& held,
                                        std::uint64_t limit,
                                        const std::byte* bytes) {
  std::uint64_t reached = copy_cursor_.current().file_offset;
  while (!copy_cursor_.is_done()) {
    const Segment& segment = copy_cursor_.current();
    const std::uint64_t end = std::min(segment.end(), limit);
    if (segment.file_offset < held.offset || segment.file_offset >= limit || end > held.end())
      break;
    const std::uint64_t size = end - segment.file_offset;
    std::memcpy(into_.data() + segment.buffer_offset, bytes + (segment.file_offset - held.offset),
                size);
    reached = std::max(reached, end);
    copy_cursor_.advance(size);
  }
  return reached;
}

SplinterPart GatherRead::consume_splinter(SegmentCursor& cursor, SplinterIndex splinter) const {
  const Geometry& geometry = wait_.core().geometry();
  SplinterPart all_parts;
  while (!cursor.is_done() && geometry.index_at(cursor.current().file_offset) == splinter) {
    const Segment& segment = cursor.current();
    const SplinterPart part = geometry.part_of({segment.file_offset, segment.size}, splinter);
    all_parts = hull(all_parts, part);
    cursor.advance(part.size());
  }
  return all_parts;
}

/// Requests all splinters within lookahead_splinters(). Of more distant segments, requests a few,
/// in batches, because each new request may have to wake an agent. If copy_cursor_ has passed
/// request_cursor_ because bytes were resident, requesting resumes at copy_cursor_.
void GatherRead::request_ahead() {
  SessionCore& core = wait_.core();
  const Geometry& geometry = core.geometry();
  if (request_cursor_.consumed_bytes() <= copy_cursor_.consumed_bytes()) {
    request_cursor_ = copy_cursor_;
    requested_ahead_ = 0;
  }
  const SplinterIndex near = splinter_ + core.lookahead_splinters();
  const std::uint32_t few = core.lookahead_splinters() / 3;
  const bool refill = requested_ahead_ <= few / 2;
  while (!request_cursor_.is_done()) {
    const SplinterIndex splinter = geometry.index_at(request_cursor_.current().file_offset);
    if (splinter > near && (!refill || requested_ahead_ >= few)) return;
    const SplinterPart part = consume_splinter(request_cursor_, splinter);
    core.enqueue_load({.splinter = splinter, .part = part, .granularity = granularity()},
                      LoadPriority::kRequested);
    ++requested_ahead_;
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
  while (!is_finished_ && wait_.bypass_read() == nullptr && next_ <= last_) {
    if (core.pin(next_, part(next_))) {
      ++next_;
      wait_.reset_priority();
      continue;
    }
    const auto availability = wait_.request(next_, part(next_), core.granularity());
    if (!availability) return finish(availability.error());
    request_remaining();
    if (*availability == Availability::kPending) return false;
    if (*availability == Availability::kBypassRequired) {
      unpin_all();
      wait_.start_bypass_read(range_);
    }
  }
  if (is_finished_) return true;
  if (wait_.bypass_read() == nullptr) return finish(std::nullopt);
  if (!wait_.bypass_read()->is_finished()) return false;
  return finish(wait_.bypass_read()->error());
}

/// The splinters after the one that advance() has requested. Requested in order, so that they get
/// the slots behind it.
void ViewRequest::request_remaining() {
  if (std::exchange(has_requested_remaining_, true)) return;
  for (SplinterIndex splinter = next_ + 1; splinter <= last_; ++splinter) {
    wait_.core().enqueue_load({.splinter = splinter, .part = part(splinter)},
                              LoadPriority::kRequested);
  }
}

bool ViewRequest::finish(std::optional<Error> error) {
  if (error) unpin_all();
  error_ = std::move(error);
  is_finished_ = true;
  return true;
}

void ViewRequest::unpin_all() noexcept {
  while (next_ > first_)
    wait_.core().unpin(--next_, 0);
}

Result<View> ViewRequest::take() {
  if (error_) return failure(*error_);
  SessionCore& core = wait_.core();
  if (BypassRead* const copy = wait_.bypass_read()) {
    const std::byte* const bytes = copy->bytes();
    return HandleAccess::make_copied_view(range_, copy->release(), bytes);
  }
  const std::uint64_t lead = range_.offset - core.geometry().start_of(first_);
  if (const std::byte* const run = core.run_address(first_, last_)) {
    next_ = first_;  // the View owns the pins now
    return HandleAccess::make_window_view(wait_.shared_core(), range_, run + lead);
  }
  // The splinters are not contiguous in the window, so the View gets a copy.
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[range_.size]);
  if (!memory) return failure(core.no_memory_error(range_));
  for (SplinterIndex splinter = first_; splinter <= last_; ++splinter) {
    const SplinterPart held = part(splinter);
    const std::uint64_t place = core.geometry().start_of(splinter) + held.first - range_.offset;
    std::memcpy(memory.get() + place, core.address(splinter) + held.first, held.size());
  }
  next_ = first_;
  HandleAccess::release(core, range_);
  core.record_view_copy(range_.size);
  const std::byte* const bytes = memory.get();
  return HandleAccess::make_copied_view(range_, std::move(memory), bytes);
}

View HandleAccess::make_window_view(const std::shared_ptr<SessionCore>& core,
                                    ByteRange range,
                                    const std::byte* bytes) {
  View view;
  view.bytes_ = {bytes, range.size};
  view.offset_ = range.offset;
  view.core_ = core;
  return view;
}

View HandleAccess::make_copied_view(ByteRange range,
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
