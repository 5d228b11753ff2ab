// SPDX-License-Identifier: Apache-2.0
#include "push/run_predictor.hpp"

#include <algorithm>

namespace forebay::push {

namespace {

constexpr std::uint64_t kConsecutiveMin = 2;
/// Hits after which a plan survives a jump.
constexpr std::uint64_t kHitsBeforeShift = 4;
/// A plan with this many hits was no chance repetition.
constexpr std::uint64_t kHitsOfPattern = 16;
/// Evidence of an access that begins the run after an incomplete one.
constexpr std::uint32_t kSkipEvidence = 2;

}  // namespace

RunPredictor::Source RunPredictor::source() const noexcept {
  const RunCursor& next = plan_.next();
  const bool has_plan = !next.is_done && is_predictable(next.offset(), next.size());
  if (has_plan && is_trusted()) return Source::kPlan;
  if (consecutive_ >= kConsecutiveMin) return Source::kConsecutive;
  if (has_plan && credit_ > 0) return Source::kPlan;
  return consecutive_share_.value() >= kShareMin ? Source::kConsecutive : Source::kNone;
}

std::size_t RunPredictor::predict(std::span<Prediction> into) const {
  const Source from = source();
  if (from == Source::kNone) return 0;
  const double confidence = recent_.value();
  RunCursor cursor = plan_.next();
  if (from == Source::kConsecutive) {
    cursor.run = {.start = last_.end(), .stride = last_.size, .size = last_.size};
    cursor.run.count = std::numeric_limits<std::int64_t>::max();
    cursor.index = 0;
    cursor.is_done = false;
  }
  std::size_t count = 0;
  for (; count < into.size() && !cursor.is_done; ++count, plan_.advance(cursor)) {
    const Prediction prediction{cursor.offset(), cursor.size(), confidence};
    if (!is_predictable(prediction.offset, prediction.size)) break;
    into[count] = prediction;
  }
  return count;
}

void RunPredictor::observe(const trace::Access& access) {
  if (!is_predictable(access.offset, access.size)) return;
  judge(access);
  const bool continues_run = history_.append(access.offset, access.size);
  count_consecutive(access);
  if (plan_.next().is_at(access.offset, access.size)) return plan_.advance();
  if (!continues_run) return replan(access);
  plan_.follow(history_.back(0));
  begin_plan(kEvidenceMin);
}

void RunPredictor::count_consecutive(const trace::Access& access) noexcept {
  if (access.offset == last_.end() && last_.size > 0) {
    ++consecutive_;
    consecutive_share_.record_hit();
  } else {
    consecutive_ = 0;
    consecutive_share_.record_miss();
  }
  last_ = access;
}

void RunPredictor::judge(const trace::Access& access) noexcept {
  const Source from = source();
  if (from != Source::kNone) {
    const std::uint64_t offset = from == Source::kPlan ? plan_.next().offset() : last_.end();
    offset == access.offset ? recent_.record_hit() : recent_.record_miss();
  }
  if (!plan_.next().is_done) judge_plan(access);
}

void RunPredictor::judge_plan(const trace::Access& access) noexcept {
  if (plan_.next().is_at(access.offset, access.size)) {
    ++hits_;
    credit_ = std::min(credit_ + 1, kCreditMax);
    if (hits_ == kHitsOfPattern) evidence_min_ = kEvidenceMin;
  } else if (!is_trusted()) {
    credit_ -= std::min(credit_, 2U);
  } else if (hits_ < kEvidenceMin) {
    evidence_min_ = std::min(evidence_min_ + 1, RunHistory::kEvidenceMax);
  }
}

void RunPredictor::begin_plan(std::uint32_t evidence) noexcept {
  evidence_ = evidence;
  hits_ = 0;
}

void RunPredictor::replan(const trace::Access& access) noexcept {
  const Period period = history_.find_period();
  if (period.evidence <= kSkipEvidence && plan_.skip_to(access.offset, access.size))
    return begin_plan(kSkipEvidence);
  const bool is_weak = period.evidence < evidence_min_;
  if (is_weak && hits_ >= kHitsBeforeShift && plan_.shift_to(access.offset, access.size))
    return begin_plan(0);
  if (period.length == 0) return;
  plan_.repeat(history_, period);
  begin_plan(period.evidence);
}

}  // namespace forebay::push
