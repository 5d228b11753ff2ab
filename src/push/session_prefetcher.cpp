// SPDX-License-Identifier: Apache-2.0
#include "push/session_prefetcher.hpp"

#include <algorithm>
#include <utility>

#include "push/loads_ahead.hpp"

namespace forebay::push {

namespace {

using read::AccessOutcome;
using read::LoadGranularity;
using read::SplinterIndex;
using read::SplinterRequest;

constexpr std::size_t kPredictionsMax = 2048;
/// 1 / this of a splinter is near.
constexpr std::uint64_t kNearShare = 4;
/// Loads of the same look-ahead among which one for the same splinter is searched.
constexpr std::size_t kMergedMax = 8;

/// Whole splinters are loaded if most accesses are near the one before.
LoadGranularity usual_granularity(const RecentOutcomes& near) {
  return near.hits() >= near.misses() ? LoadGranularity::kSplinter : LoadGranularity::kExact;
}

void add_parametric_hint(AccessStream& stream,
                         const PrefetcherOptions::Stored& stored,
                         const ByteRange& first) {
  const ParametricPredictor predictor(stored.parametric);
  if (predictor.can_begin_with({first.offset, first.size}))
    stream.add_hint(stored.origin, stored.parametric);
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

}  // namespace

SessionPrefetcher::SessionPrefetcher(read::SessionCore& core, PrefetcherOptions options)
    : core_(core),
      options_(std::move(options)),
      loads_max_(loads_ahead_max(core.plan())),
      buffer_(loads_max_ > 0 ? kPredictionsMax : 0) {}

SessionPrefetcher::Stream& SessionPrefetcher::stream_of_this_thread(const ByteRange& access) {
  const std::thread::id self = std::this_thread::get_id();
  const auto find = [&](std::thread::id thread) {
    return std::ranges::find_if(streams_,
                                [&](const auto& stream) { return stream->thread == thread; });
  };
  auto found = find(self);
  if (found == streams_.end()) found = find({});
  if (found == streams_.end()) {
    add_stream();
    found = streams_.begin();
  }
  if (found != streams_.begin()) std::rotate(streams_.begin(), found, found + 1);
  Stream& stream = *streams_.front();
  if (std::exchange(stream.thread, self) != self) add_stored_hints(stream.accesses, access);
  return stream;
}

void SessionPrefetcher::add_stream() {
  if (streams_.size() == kStreamsMax) {
    cancel(streams_.back()->accesses.ahead());
    streams_.pop_back();
  }
  streams_.insert(streams_.begin(), std::make_unique<Stream>());
}

void SessionPrefetcher::add_stored_hints(AccessStream& stream, const ByteRange& first) {
  const auto begins_so = [&](const PrefetcherOptions::Stored& stored) {
    if (stored.signature == nullptr) return false;
    const trace::SignatureCursor cursor(stored.signature);
    return !cursor.is_done() && cursor.current().offset == first.offset;
  };
  const bool is_known = std::ranges::any_of(options_.stored, begins_so);
  for (const PrefetcherOptions::Stored& stored : options_.stored) {
    if (stream.hint_count() == AccessStream::kHintsMax) return;
    if (stored.parametric != nullptr)
      add_parametric_hint(stream, stored, first);
    else if (!is_known || begins_so(stored))
      stream.add_hint(stored.origin, stored.signature);
  }
}

void SessionPrefetcher::observe(const ByteRange& range, AccessOutcome outcome) noexcept try {
  if (PreExecution::is_function_thread()) return;
  if (options_.recorder) {
    const TimePoint now = options_.clock.now();
    options_.recorder->record({.offset = range.offset,
                               .size = range.size,
                               .begin = now,
                               .end = now,
                               .file = options_.recorded_file});
  }
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return;
  ++position_;
  if (first_reads_.size() < kFirstReadsMax) first_reads_.push_back(range);
  if (loads_max_ == 0 && !options_.learned) return count(outcome, Expectation::kNone);
  if (pre_execution_) pre_execution_->observe(range);
  if (remote_ != nullptr) remote_->observe(range, position_);
  Stream& stream = stream_of_this_thread(range);
  AheadQueue& ahead = stream.accesses.ahead();
  const bool had_ahead = !ahead.is_empty();
  const trace::Access access{range.offset, range.size};
  if (options_.learned && stream.reads.size() <= LearnedHints::kReadsMax)
    stream.reads.push_back(access);
  const bool held = stream.accesses.observe(access, options_.clock, outcome);
  count(outcome, had_ahead && held ? Expectation::kPushed : Expectation::kNone);
  if (!held) cancel(ahead);
  record_distance(stream, range);
  push_ahead(stream);
} catch (const std::bad_alloc&) {  // without a prediction, the request is a miss
  return;
}

void SessionPrefetcher::count(AccessOutcome outcome, Expectation expectation) noexcept {
  const bool was_pushed = expectation == Expectation::kPushed;
  // A push that extends a splinter has not ended.
  const bool is_late =
      outcome == AccessOutcome::kLate || (outcome == AccessOutcome::kPartial && was_pushed);
  counts_.hits += outcome == AccessOutcome::kHit ? 1 : 0;
  counts_.late += is_late ? 1 : 0;
  counts_.misses += outcome >= AccessOutcome::kPartial && !is_late ? 1 : 0;
  counts_.early += outcome == AccessOutcome::kMiss && was_pushed ? 1 : 0;
}

bool SessionPrefetcher::is_near(std::uint64_t offset, std::uint64_t end_before) const noexcept {
  return distance(offset, end_before) < core_.plan().tuning.splinter_bytes / kNearShare;
}

void SessionPrefetcher::record_distance(Stream& stream, const ByteRange& range) noexcept {
  if (position_ > 1)
    is_near(range.offset, stream.last_end) ? stream.near.record_hit() : stream.near.record_miss();
  stream.last_end = range.end();
  core_.set_granularity(usual_granularity(stream.near));
}

/// Whether most of the next accesses are near the one before. Two predictions are too few; the
/// accesses so far decide.
LoadGranularity SessionPrefetcher::granularity_of(const Stream& stream,
                                                  std::span<const Prediction> next) const noexcept {
  const std::size_t count = std::min(next.size(), RecentOutcomes::kWindow);
  if (count < 3) return usual_granularity(stream.near);
  std::size_t near = 0;
  for (std::size_t i = 1; i < count; ++i)
    near += is_near(next[i].offset, next[i - 1].offset + next[i - 1].size) ? 1 : 0;
  return 2 * near >= count - 1 ? LoadGranularity::kSplinter : LoadGranularity::kExact;
}

void SessionPrefetcher::cancel(AheadQueue& ahead) {
  cancelled_.clear();
  const read::Geometry& geometry = core_.geometry();
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    const ByteRange range = intersect({ahead.at(i).offset, ahead.at(i).size}, geometry.extent());
    if (range.empty()) continue;
    const SplinterIndex last = last_splinter(range, 2 * loads_max_);
    for (SplinterIndex splinter = geometry.index_at(range.offset); splinter <= last; ++splinter)
      cancelled_.push_back(splinter);
  }
  ahead.clear();
  if (!cancelled_.empty()) core_.cancel_push(cancelled_);
}

void SessionPrefetcher::push_ahead(Stream& stream) {
  AheadQueue& ahead = stream.accesses.ahead();
  const auto predictions = stream.accesses.next_pushes(buffer_, loads_max_, core_.load_latency());
  if (predictions.empty()) return;
  loads_.clear();
  const LoadGranularity granularity = granularity_of(stream, predictions);
  for (const Prediction& next : predictions) {
    if (ahead.is_full() || ahead.loads() >= loads_max_) break;
    const ByteRange range = intersect({next.offset, next.size}, core_.geometry().extent());
    // Predictions beyond the extent end the look-ahead.
    if (range.size != next.size) break;
    const std::uint64_t use = position_ + ahead.accesses();
    ahead.push(next.offset, next.size, add_loads(range, use, granularity));
  }
  if (!loads_.empty()) core_.push(loads_, position_);
}

/// The last splinter of the range, or that of its first `count_max` ones.
SplinterIndex SessionPrefetcher::last_splinter(const ByteRange& range,
                                               std::uint64_t count_max) const noexcept {
  const read::Geometry& geometry = core_.geometry();
  return static_cast<SplinterIndex>(std::min<std::uint64_t>(
      geometry.index_at(range.end() - 1), geometry.index_at(range.offset) + count_max - 1));
}

/// Adds loads for the range to loads_, at most loads_max_. Returns the number of new ones.
std::uint32_t SessionPrefetcher::add_loads(const ByteRange& range,
                                           std::uint64_t use,
                                           LoadGranularity granularity) {
  const read::Geometry& geometry = core_.geometry();
  const SplinterIndex last = last_splinter(range, loads_max_);
  std::uint32_t added = 0;
  for (SplinterIndex splinter = geometry.index_at(range.offset); splinter <= last; ++splinter) {
    const read::SplinterPart part = granularity == LoadGranularity::kSplinter
                                        ? geometry.full_part(splinter)
                                        : geometry.part_of(range, splinter);
    const std::size_t searched = std::min(loads_.size(), kMergedMax);
    const auto known =
        std::find_if(loads_.end() - static_cast<std::ptrdiff_t>(searched), loads_.end(),
                     [&](const SplinterRequest& one) { return one.splinter == splinter; });
    if (known != loads_.end()) {
      known->part = read::hull(known->part, part);
      continue;
    }
    loads_.push_back(
        {.splinter = splinter, .part = part, .granularity = LoadGranularity::kExact, .use = use});
    ++added;
  }
  return added;
}

Status SessionPrefetcher::add_hint(std::shared_ptr<const trace::Signature> signature) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_ || loads_max_ == 0) return {};
  if (position_ == 0 && streams_.empty()) add_stream();
  Stream& stream = position_ == 0 ? *streams_.front() : stream_of_this_thread({});
  stream.accesses.add_hint(HintOrigin::kProgram, std::move(signature));
  push_ahead(stream);
  return {};
}

Status SessionPrefetcher::hint(std::string_view signature) {
  auto parsed = trace::parse_signature(signature, core_.path());
  if (!parsed) return failure(parsed.error());
  if (parsed->operation == trace::Operation::kWrite) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "give a hint",
                    .path = core_.path(),
                    .cause = "the signature is of writes; a session only reads"});
  }
  return add_hint(std::make_shared<const trace::Signature>(std::move(*parsed)));
}

Status SessionPrefetcher::hint(std::span<const ByteRange> reads) {
  if (reads.empty()) return {};
  trace::Signature signature;
  signature.items.emplace_back(trace::ListItem{{reads.begin(), reads.end()}});
  if (Status checked = trace::check_signature(signature); !checked) return checked;
  return add_hint(std::make_shared<const trace::Signature>(std::move(signature)));
}

Status SessionPrefetcher::preexecute(std::string_view name, std::span<const std::byte> argument) {
  read::RemotePreExecution* const remote =
      core_.plan().pre_execution_mode == PreExecutionMode::kAgent ? core_.remote_preexecution()
                                                                  : nullptr;
  if (remote == nullptr) {
    auto next = options_.functions->make(std::string(name), core_.shared_from_this(), argument);
    return next ? preexecute(std::move(*next)) : failure(next.error());
  }
  const Status started = remote->start(name, argument);
  const std::lock_guard lock(mutex_);
  if (started) remote_ = remote;
  return started;
}

Status SessionPrefetcher::preexecute(NextRead next_read) {
  if (core_.plan().pre_execution_mode == PreExecutionMode::kAgent && core_.remote_preexecution()) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "pre-execute the reads of",
                    .path = core_.path(),
                    .cause = "the agent of this node is another process, which can only run "
                             "functions of register_next_reads(); name one, or choose "
                             "another pre_execution_mode"});
  }
  PreExecution::Options options{.mode = core_.plan().pre_execution_mode,
                                .extent = core_.geometry().extent(),
                                .path = core_.path(),
                                .push = [this](ByteRange range) { push_range(range); },
                                .report = nullptr};
  options.report = [log = options_.log](const Error& error) {
    if (log != nullptr) log->write(LogLevel::kWarning, error.message());
  };
  auto started = PreExecution::start(std::move(next_read), std::move(options));
  if (!started) return failure(started.error());
  {
    const std::lock_guard lock(mutex_);
    if (!is_stopped_) std::swap(pre_execution_, *started);
  }
  return {};  // the other function ends here, outside the lock, which its callback takes
}

void SessionPrefetcher::push_range(ByteRange range) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_ || loads_max_ == 0) return;
  pre_executed_use_ = std::max(pre_executed_use_, position_) + 1;
  loads_.clear();
  add_loads(range, pre_executed_use_, LoadGranularity::kExact);
  core_.push(loads_, position_);
}

std::vector<ByteRange> SessionPrefetcher::first_reads() const {
  const std::lock_guard lock(mutex_);
  return first_reads_;
}

void SessionPrefetcher::add_counts(PrefetchReport& report) const {
  const std::lock_guard lock(mutex_);
  report.hits += counts_.hits;
  report.late += counts_.late;
  report.misses += counts_.misses;
  report.early += counts_.early;
}

void SessionPrefetcher::stop() noexcept {
  detail::OriginPointer<PreExecution> ended;  // outside the lock, which its callback takes
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_stopped_, true)) return;
  for (const auto& stream : streams_) {
    if (options_.learned) options_.learned->add(core_.path(), std::move(stream->reads));
  }
  std::swap(pre_execution_, ended);
  streams_.clear();
}

}  // namespace forebay::push
