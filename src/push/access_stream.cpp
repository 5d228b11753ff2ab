// SPDX-License-Identifier: Apache-2.0
#include "push/access_stream.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace forebay::push {

namespace {

/// Accesses that a source may push before any of its pushes was read: of a hint, or of a predictor
/// that was right often; of one that is new.
constexpr std::size_t kTrustedAhead = 16;
constexpr std::size_t kNewAhead = 1;
constexpr std::uint64_t kDoublingsMax = 8;
constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
/// Beyond kTrustedAhead, a predictor may push this number of accesses for each that was read since
/// it was wrong: so that little is wasted at the end of a short run.
constexpr std::uint64_t kAheadPerUse = 2;
/// Shorter intervals are no reason to wait with a push.
constexpr std::chrono::microseconds kIntervalMin{20};
constexpr std::uint32_t kQuickMax = 32;
/// A stream is wasteful if it has dropped more pushed accesses than this number and
/// 1 / kDroppedShare of the used ones.
constexpr std::uint64_t kDroppedMin = 16;
constexpr std::uint64_t kDroppedShare = 8;

}  // namespace

void AccessStream::add_hint(HintOrigin origin, std::shared_ptr<const trace::Signature> signature) {
  auto predictor = std::make_unique<SignaturePredictor>(std::move(signature));
  add_hint(std::unique_ptr<Hint>(new Hint{origin, std::move(predictor), true}));
}

void AccessStream::add_hint(HintOrigin origin,
                            std::shared_ptr<const ParametricSignature> signature) {
  auto predictor = std::make_unique<ParametricPredictor>(std::move(signature));
  add_hint(std::unique_ptr<Hint>(new Hint{origin, std::move(predictor), false}));
}

void AccessStream::add_hint(std::unique_ptr<Hint> hint) {
  const HintOrigin origin = hint->origin;
  if (hints_.size() == kHintsMax) {
    const auto last = std::ranges::max_element(
        hints_, [](const auto& a, const auto& b) { return a->origin < b->origin; });
    if ((*last)->origin < origin) return;
    if (source_ == last->get()) source_ = nullptr;
    hints_.erase(last);
  }
  const auto place =
      std::ranges::find_if(hints_, [&](const auto& one) { return one->origin > origin; });
  hints_.insert(place, std::move(hint));
}

bool AccessStream::observe(const trace::Access& access,
                           const Clock& clock,
                           read::AccessOutcome outcome) {
  observe_time(clock, outcome);
  for (const auto& hint : hints_)
    judge(*hint, access);
  online_.observe(access);
  newest_ = {access, newest_[0], newest_[1]};
  ++observed_;
  if (ahead_.is_empty()) return true;
  const std::uint64_t before = ahead_.accesses();
  const std::size_t skipped = ahead_.match(access);
  if (skipped == AheadQueue::kEntriesMax) {
    dropped_ += before;
    end_run();
    return false;
  }
  ++used_;
  ++run_;
  dropped_ += skipped;
  return true;
}

/// The mean length of runs is how far the next one is trusted. A wrong guess is no run.
void AccessStream::end_run() noexcept {
  if (run_ == 0) return;
  usual_run_ = (usual_run_.value_or(run_) + run_) / 2;
  run_ = 0;
}

void AccessStream::judge(Hint& hint, const trace::Access& access) {
  Prediction next;
  if (hint.predictor->predict({&next, 1}) > 0)
    next.offset == access.offset ? hint.gate.record_hit() : hint.gate.record_miss();
  hint.predictor->observe(access);
  hint.has_next = hint.predictor->predict({&next, 1}) > 0;
}

/// An access that waited for storage delays the next one, so only the interval after a hit counts.
/// Of quick accesses, only the mean interval of several is measured: the clock costs more than they
/// need for a prediction.
void AccessStream::observe_time(const Clock& clock, read::AccessOutcome outcome) noexcept {
  const bool is_after_hit = std::exchange(is_after_hit_, outcome == read::AccessOutcome::kHit);
  if (quick_ == kQuickMax && ++untimed_ < kQuickMax) return;
  const TimePoint now = clock.now();
  if (is_after_hit) {
    const auto interval = (now - last_) / std::max(untimed_, 1U);
    quick_ = interval < kIntervalMin ? std::min(quick_ + 1, kQuickMax) : 0;
    if (quick_ < kQuickMax) arrival_.observe(std::chrono::nanoseconds(interval).count());
  }
  last_ = now;
  untimed_ = 0;
}

const AccessStream::Hint* AccessStream::best_hint() const noexcept {
  const Hint* best = nullptr;
  for (const auto& hint : hints_) {
    const RecentOutcomes& outcomes = hint->gate.outcomes();
    const bool is_right =
        hint->gate.is_open() || (hint->gate.is_new() && outcomes.hits() >= outcomes.misses());
    const bool is_better = best == nullptr || outcomes.hits() > best->gate.outcomes().hits();
    if (hint->has_next && is_right && is_better) best = hint.get();
  }
  return best;
}

bool AccessStream::is_wasteful() const noexcept {
  return dropped_ > kDroppedMin + used_ / kDroppedShare;
}

/// Accesses of the present run that a predictor may push: as many as make it as long as usual, and
/// more in a longer one.
std::size_t AccessStream::run_ahead() const noexcept {
  if (!usual_run_) return kTrustedAhead + kAheadPerUse * run_;
  if (run_ < *usual_run_) return *usual_run_ - run_;
  return kNewAhead + kAheadPerUse * (run_ - *usual_run_);
}

/// Accesses that may be ahead at most.
std::size_t AccessStream::allowance(const Hint* hint) const noexcept {
  const PrecisionGate& gate = hint != nullptr ? hint->gate : online_.gate();
  const bool is_hint = hint != nullptr;
  const bool is_trusted = gate.is_open() || (is_hint && gate.is_new());
  // One access at a time shows whether the pattern is steady again.
  if (run_ == 0 && is_wasteful()) return is_trusted ? kNewAhead : 0;
  if (!is_trusted && (is_wasteful() || !gate.is_new())) return 0;
  const std::size_t first = is_trusted ? kTrustedAhead : kNewAhead;
  const std::size_t limit = is_hint ? kUnlimited : run_ahead();
  return std::min(first << (2 * std::min<std::uint64_t>(run_, kDoublingsMax)), limit);
}

std::size_t AccessStream::accesses_within(std::chrono::nanoseconds horizon) const noexcept {
  if (horizon.count() == 0 || quick_ == kQuickMax) return kUnlimited;
  for (std::size_t ahead = 2; ahead <= AheadQueue::kEntriesMax; ahead *= 2) {
    const auto estimate = arrival_.predict(ahead);
    if (!estimate) return kUnlimited;
    if (estimate->time_ns - estimate->spread_ns > horizon.count()) return ahead;
  }
  return kUnlimited;
}

/// After three accesses, no predictor has found more than one step. Steps often alternate: so the
/// step before the last one is pushed as well.
std::size_t AccessStream::guess(std::span<Prediction> into) const {
  const std::size_t predicted = online_.predict(into.first(1));
  const Prediction other{newest_[0].offset + (newest_[1].offset - newest_[2].offset),
                         newest_[0].size};
  if (!is_predictable(other.offset, other.size)) return predicted;
  if (predicted > 0 && into[0].offset == other.offset) return predicted;
  into[predicted] = other;
  return predicted + 1;
}

std::span<const Prediction> AccessStream::next_pushes(std::span<Prediction> buffer,
                                                      std::uint64_t loads_max,
                                                      std::chrono::nanoseconds latency) {
  const Hint* const hint = best_hint();
  if (hint != source_) {
    dropped_ += ahead_.accesses();
    ahead_.clear();  // what was pushed stays, it may be of use
    source_ = hint;
  }
  if (hint == nullptr && observed_ == 3 && run_ == 0 && ahead_.is_empty() && loads_max >= 2)
    return buffer.first(guess(buffer));
  if (ahead_.is_full() || ahead_.loads() > loads_max - loads_max / 4) return {};
  // About as many accesses as loads_max loads have.
  const std::uint64_t loads = std::max<std::uint64_t>(ahead_.loads(), 1);
  const std::uint64_t by_loads =
      loads_max * (std::max(ahead_.accesses(), loads) + loads - 1) / loads + kTrustedAhead;
  const std::size_t allowed =
      std::min({buffer.size(), static_cast<std::size_t>(by_loads), allowance(hint)});
  const auto ahead = static_cast<std::size_t>(ahead_.accesses());
  if (ahead + allowed / 4 >= allowed) return {};
  const std::size_t limit = std::min(allowed, accesses_within(2 * latency));
  if (ahead + limit / 4 >= limit) return {};
  const std::span<Prediction> into = buffer.first(limit);
  const std::size_t count =
      hint != nullptr ? hint->predictor->predict(into) : online_.predict(into);
  return count > ahead ? into.subspan(ahead, count - ahead) : std::span<Prediction>();
}

}  // namespace forebay::push
