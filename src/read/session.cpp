// SPDX-License-Identifier: Apache-2.0
// The public calls of a session: check arguments, serve resident bytes from the window, and create
// a request for the rest.
#include <forebay/session.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "read/requests.hpp"
#include "read/session_core.hpp"

namespace forebay {

namespace {

using read::Geometry;
using read::SegmentCursor;
using read::SessionCore;

/// Minimum number of views that a ViewSequence requests beyond the one it waits for.
constexpr std::uint64_t kViewsAheadMin = 2;

std::optional<Error> check_range(const SessionCore& core, const ByteRange& range) {
  const ByteRange& extent = core.geometry().extent();
  if (!extent.contains(range)) {
    return Error({.kind = ErrorClass::kOutOfRange,
                  .operation = "read",
                  .path = core.path(),
                  .offset_bytes = range.offset,
                  .cause = std::to_string(range.size) +
                           " bytes from here exceed the session, which has bytes " +
                           std::to_string(extent.offset) + " to " + std::to_string(extent.end())});
  }
  if (core.is_closed()) return core.closed_error();
  return std::nullopt;
}

std::optional<Error> check_buffer(const SessionCore& core,
                                  std::uint64_t needed,
                                  std::uint64_t given) {
  if (needed == given) return std::nullopt;
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "read",
                .path = core.path(),
                .cause = "the request has " + std::to_string(needed) + " bytes, the buffer " +
                         std::to_string(given)});
}

/// Segments of a scattered request that an observer receives.
constexpr std::size_t kSegmentsObservedMax = 64;

/// The contiguous ranges of a request, with their state before the request is made.
class ObservedAccesses {
 public:
  ObservedAccesses(const SessionCore& core, const SegmentCursor& request)
      : observer_(core.observer()) {
    if (observer_ == nullptr) return;
    for (SegmentCursor cursor = request;
         !cursor.is_done() && accesses_.size() < kSegmentsObservedMax;) {
      const read::Segment segment = cursor.current();
      const ByteRange range{segment.file_offset, segment.size};
      accesses_.push_back({range, core.outcome_of(range)});
      cursor.advance(segment.size);
    }
  }
  void report() const {
    for (const auto& [range, outcome] : accesses_)
      observer_->observe(range, outcome);
  }

 private:
  read::AccessObserver* observer_;
  std::vector<std::pair<ByteRange, read::AccessOutcome>> accesses_;
};

void observe(const SessionCore& core, const ByteRange& range, read::AccessOutcome outcome) {
  if (read::AccessObserver* const observer = core.observer()) observer->observe(range, outcome);
}

Future<ByteCount> start_gather(const std::shared_ptr<SessionCore>& core,
                               const SegmentCursor& cursor,
                               std::span<std::byte> into) {
  if (auto error = check_buffer(*core, cursor.total_bytes(), into.size())) return *error;
  if (cursor.is_done()) return ByteCount{0};
  if (auto error = check_range(*core, cursor.bounds())) return *error;
  const ObservedAccesses accesses(*core, cursor);
  auto request = std::make_unique<read::GatherRead>(core, cursor, into);
  const bool is_finished = request->advance();
  accesses.report();
  if (is_finished) return request->take();
  return Future<ByteCount>(std::move(request));
}

Error not_on_demand(const SessionCore& core) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "give a hint",
                .path = core.path(),
                .cause = "the session reads its whole extent; open it on demand"});
}

/// A function of preexecute() that the node's agent runs has the agent's session.
Error without_observer(const SessionCore& core) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "give a hint",
                .path = core.path(),
                .cause = "a function that the node's agent runs can only read from its session; "
                         "give hints on the rank"});
}

template <class Call>
Status call_observer(const SessionCore& core, Call call) {
  if (core.is_closed()) return failure(core.closed_error());
  if (core.plan().mode != Mode::kOnDemand) return failure(not_on_demand(core));
  if (core.observer() == nullptr) return failure(without_observer(core));
  return call(*core.observer()).map_error([&](const Error& error) {
    return with_location(error, core.path());
  });
}

}  // namespace

void View::unpin() noexcept {
  if (core_->is_from_parent()) return core_.reset();
  const Geometry& geometry = core_->geometry();
  const read::SplinterIndex first = geometry.index_at(offset_);
  if (geometry.index_at(offset_ + bytes_.size() - 1) == first) {
    core_->unpin(first, static_cast<std::uint32_t>(bytes_.size()));
  } else {
    read::HandleAccess::release(*core_, range());
  }
  core_.reset();
}

// A `weak_ptr` to the guard keeps the deleter alive, and thus `kept`. So the deleter resets `kept`
// when it runs.
Session::Session(std::shared_ptr<SessionCore> core)
    : core_(std::move(core)), close_guard_(core_.get(), [kept = core_](void*) mutable {
        if (!kept->is_from_parent()) kept->close();
        kept.reset();
      }) {}

ByteRange Session::extent() const noexcept { return core_->geometry().extent(); }

const ReadPlan& Session::plan() const noexcept { return core_->plan(); }

const SessionHandle& Session::handle() const noexcept { return core_->handle(); }

const std::string& Session::path() const noexcept { return core_->path(); }

Future<ByteCount> Session::read(std::uint64_t offset, std::span<std::byte> into) const {
  const ByteRange range{offset, into.size()};
  const Geometry& geometry = core_->geometry();
  // Common case: the bytes are resident, in one splinter. It costs two atomic additions and the
  // copy.
  if (!range.empty() && geometry.extent().contains(range) && !core_->is_closed()) {
    const read::SplinterIndex splinter = geometry.index_at(offset);
    const read::SplinterPart part = geometry.part_of(range, splinter);
    if (part.size() == range.size && core_->pin(splinter, part)) {
      std::memcpy(into.data(), core_->address(splinter) + part.first, range.size);
      core_->unpin(splinter, part.size());
      observe(*core_, range, read::AccessOutcome::kHit);
      return ByteCount{range.size};
    }
  }
  return start_gather(core_, SegmentCursor(range), into);
}

Future<ByteCount> Session::read(std::span<const ByteRange> ranges,
                                std::span<std::byte> into) const {
  for (const ByteRange& range : ranges) {
    if (range.empty()) continue;
    if (auto error = check_range(*core_, range)) return *error;
  }
  return start_gather(core_, SegmentCursor::of_ranges(ranges), into);
}

Future<ByteCount> Session::read(const Subarray& block, std::span<std::byte> into) const {
  const std::uint64_t array_offset = block.array_offset.value_or(extent().offset);
  auto cursor = SegmentCursor::of_block(block, array_offset);
  if (!cursor) return with_location(cursor.error(), core_->path(), array_offset);
  return start_gather(core_, *cursor, into);
}

Future<View> Session::view(ByteRange range) const {
  const Geometry& geometry = core_->geometry();
  if (!range.empty() && geometry.extent().contains(range) && !core_->is_closed()) {
    const read::SplinterIndex splinter = geometry.index_at(range.offset);
    const read::SplinterPart part = geometry.part_of(range, splinter);
    if (part.size() == range.size && core_->pin(splinter, part)) {
      observe(*core_, range, read::AccessOutcome::kHit);
      return read::HandleAccess::make_window_view(core_, range,
                                                  core_->address(splinter) + part.first);
    }
  }
  return request_view(range);
}

Future<View> Session::request_view(ByteRange range) const {
  if (range.empty()) return View();
  if (auto error = check_range(*core_, range)) return *error;
  if (range.size > core_->plan().budget_bytes) {
    return Error({.kind = ErrorClass::kLimit,
                  .operation = "view",
                  .path = core_->path(),
                  .offset_bytes = range.offset,
                  .cause = std::to_string(range.size) +
                           " bytes are more than the session's budget of " +
                           std::to_string(core_->plan().budget_bytes) +
                           "; use views() to read it in parts"});
  }
  const ObservedAccesses accesses(*core_, SegmentCursor(range));
  auto request = std::make_unique<read::ViewRequest>(core_, range);
  const bool is_finished = request->advance();
  accesses.report();
  if (is_finished) return request->take();
  return Future<View>(std::move(request));
}

ViewSequence Session::views(Extent part) const {
  const ByteRange session = extent();
  if (part == Extent{}) return ViewSequence(*this, session);
  const bool to_the_end = part.size == kAll && part.offset <= session.end();
  return ViewSequence(*this, {part.offset, to_the_end ? session.end() - part.offset : part.size});
}

void Session::prefetch(ByteRange range) const {
  const Geometry& geometry = core_->geometry();
  const ByteRange inside = intersect(range, geometry.extent());
  if (inside.empty() || core_->is_closed()) return;
  const read::SplinterIndex last = geometry.index_at(inside.end() - 1);
  for (read::SplinterIndex splinter = geometry.index_at(inside.offset); splinter <= last;
       ++splinter) {
    core_->enqueue_load({.splinter = splinter, .part = geometry.part_of(inside, splinter)},
                        read::LoadPriority::kHint);
  }
}

Status Session::hint(std::string_view signature) const {
  return call_observer(*core_, [&](auto& observer) { return observer.hint(signature); });
}

Status Session::hint(std::span<const ByteRange> reads) const {
  for (const ByteRange& range : reads) {
    if (auto error = check_range(*core_, range)) return failure(*error);
  }
  return call_observer(*core_, [&](auto& observer) { return observer.hint(reads); });
}

Status Session::preexecute(NextRead next_read) const {
  return call_observer(*core_,
                       [&](auto& observer) { return observer.preexecute(std::move(next_read)); });
}

Status Session::preexecute(std::string_view name, std::span<const std::byte> argument) const {
  return call_observer(*core_, [&](auto& observer) { return observer.preexecute(name, argument); });
}

SessionReport Session::report() const {
  return core_->is_from_parent() ? SessionReport{} : core_->report();
}

void Session::close() const {
  if (!core_->is_from_parent()) core_->close();
}

Future<View> ViewSequence::next() {
  if (!session_.extent().contains(remaining_))
    return session_.view(std::exchange(remaining_, {remaining_.end(), 0}));
  const std::uint64_t unit = session_.plan().tuning.splinter_bytes;
  const std::uint64_t view_end = std::min(remaining_.end(), (remaining_.offset / unit + 1) * unit);
  const ByteRange range{remaining_.offset, view_end - remaining_.offset};
  remaining_ = {view_end, remaining_.end() - view_end};
  Future<View> view = session_.view(range);
  prefetch_ahead();
  return view;
}

/// Requests are batched because each new one may have to wake an agent.
void ViewSequence::prefetch_ahead() {
  const ReadPlan& plan = session_.plan();
  const std::uint64_t unit = plan.tuning.splinter_bytes;
  const std::uint64_t busy =
      std::min(plan.tuning.queue_depth * plan.tuning.request_bytes, plan.tuning.window_bytes / 4);
  const std::uint64_t ahead = std::max(kViewsAheadMin, busy / unit) * unit;
  const std::uint64_t from = std::max(prefetched_end_, remaining_.offset);
  if (from > remaining_.offset + ahead / 2) return;
  prefetched_end_ = remaining_.offset + ahead;
  session_.prefetch(intersect(remaining_, {from, prefetched_end_ - from}));
}

}  // namespace forebay
