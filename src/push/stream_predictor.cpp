// SPDX-License-Identifier: Apache-2.0
#include "push/stream_predictor.hpp"

#include <algorithm>
#include <utility>

#include "push/difference_table.hpp"
#include "push/markov_predictor.hpp"
#include "push/neural_predictor.hpp"
#include "push/run_predictor.hpp"
#include "push/successor_table.hpp"

namespace forebay::push {

namespace {

constexpr std::size_t kSteadyHits = 15;  ///< of RecentOutcomes::kWindow
constexpr std::size_t kConfirmedMin = 16;
constexpr std::size_t kIntervalMax = 64;
constexpr std::size_t kMissesMax = 4;  ///< of RecentOutcomes::kWindow
/// Hits by which another predictor must be better than the active one.
constexpr std::size_t kLead = 2;
constexpr std::size_t kGateOutcomesMin = 3;

}  // namespace

void PrecisionGate::record_hit() noexcept {
  outcomes_.record_hit();
  update();
}

void PrecisionGate::record_miss() noexcept {
  outcomes_.record_miss();
  update();
}

void PrecisionGate::record_silence() noexcept {
  if (++silent_ >= RecentOutcomes::kWindow) *this = {};
}

void PrecisionGate::update() noexcept {
  silent_ = 0;
  if (outcomes_.size() < kGateOutcomesMin) return;
  const std::size_t hits = outcomes_.hits();
  const bool is_usual = is_open_ ? hits * 2 >= outcomes_.size() : hits * 4 >= outcomes_.size() * 3;
  is_open_ = is_usual || outcomes_.streak() >= RecentOutcomes::kWindow / 2;
}

void StreamPredictor::Queue::refill(const Predictor& predictor) {
  head_ = 0;
  size_ = predictor.predict(predictions_);
}

StreamPredictor::StreamPredictor(std::size_t neural_steps) : neural_steps_(neural_steps) {
  const auto add = [&](std::unique_ptr<Predictor> predictor) {
    candidates_.push_back({.predictor = std::move(predictor)});
  };
  candidates_.reserve(5);
  add(std::make_unique<RunPredictor>());
  add(std::make_unique<DifferenceTable>());
  add(std::make_unique<MarkovPredictor>());
  add(std::make_unique<SuccessorTable>());
  if (neural_steps > 0) add(std::make_unique<NeuralPredictor>());
}

std::string_view StreamPredictor::active() const noexcept {
  return state_ == StreamState::kLearning ? "" : candidates_[leader_].predictor->name();
}

std::size_t StreamPredictor::state_bytes() const noexcept {
  std::size_t bytes = sizeof(*this) + candidates_.capacity() * sizeof(Candidate);
  for (const Candidate& candidate : candidates_)
    bytes += candidate.predictor->state_bytes();
  return bytes;
}

std::size_t StreamPredictor::predict(std::span<Prediction> into) const {
  return candidates_[leader_].predictor->predict(into);
}

void StreamPredictor::observe(const trace::Access& access) {
  if (!is_predictable(access.offset, access.size)) return;
  is_locked() ? follow(access) : judge_all(access);
}

void StreamPredictor::lock(StreamState state, std::size_t interval) noexcept {
  state_ = state;
  interval_ = interval;
  until_judged_ = interval;
  queue_.clear();
}

void StreamPredictor::follow(const trace::Access& access) {
  Predictor& active = *candidates_[leader_].predictor;
  if (!queue_.is_next(access)) queue_.refill(active);
  if (!queue_.is_next(access)) {
    unlock();
    return judge_all(access);
  }
  queue_.pop();
  active.observe(access);
  if (!gate_.is_open()) gate_.record_hit();  // else only every k-th access counts
  if (--until_judged_ == 0) confirm();
}

void StreamPredictor::confirm() noexcept {
  gate_.record_hit();
  if (state_ == StreamState::kPrediction) return lock(StreamState::kSupervision, 2);
  if (interval_ == kIntervalMax) streak_min_ = kStreakMin;
  lock(StreamState::kSupervision, std::min(2 * interval_, kIntervalMax));
}

void StreamPredictor::unlock() noexcept {
  for (Candidate& candidate : candidates_) {
    candidate.exact = {};
    candidate.has_next = false;
  }
  Candidate& active = candidates_[leader_];
  active.has_next = !queue_.is_empty();
  if (active.has_next) active.next = queue_.front();
  exact_ = {};
  for (std::size_t i = 0; i < RecentOutcomes::kWindow; ++i)
    exact_.record_hit();
  state_ = StreamState::kSupervision;
  interval_ = 1;
}

void StreamPredictor::judge_leader(const trace::Access& access) noexcept {
  const Candidate& leader = candidates_[leader_];
  const bool hit = leader.has_next && is_exact(leader.next, access);
  hit ? exact_.record_hit() : exact_.record_miss();
  if (!leader.has_next) return gate_.record_silence();
  leader.next.offset == access.offset ? gate_.record_hit() : gate_.record_miss();
}

void StreamPredictor::judge_all(const trace::Access& access) {
  judge_leader(access);
  for (Candidate& candidate : candidates_) {
    const bool hit = candidate.has_next && is_exact(candidate.next, access);
    hit ? candidate.exact.record_hit() : candidate.exact.record_miss();
    candidate.predictor->observe(access);
    candidate.has_next = candidate.predictor->predict({&candidate.next, 1}) > 0;
  }
  if (neural_steps_ > 0)
    static_cast<NeuralPredictor&>(*candidates_.back().predictor).train(neural_steps_);
  state_ == StreamState::kLearning ? learn() : supervise();
}

bool StreamPredictor::is_steady(const Candidate& candidate) const noexcept {
  return candidate.exact.streak() >= streak_min_ || candidate.exact.hits() >= kSteadyHits;
}

std::size_t StreamPredictor::best() const noexcept {
  std::size_t best = 0;
  const auto rank = [](const Candidate& one) { return std::pair(one.has_next, one.exact.hits()); };
  for (std::size_t i = 1; i < candidates_.size(); ++i) {
    if (rank(candidates_[i]) > rank(candidates_[best])) best = i;
  }
  return best;
}

void StreamPredictor::learn() noexcept {
  leader_ = best();
  const Candidate& leader = candidates_[leader_];
  if (leader.has_next && is_steady(leader)) lock(StreamState::kPrediction, kConfirmedMin);
}

void StreamPredictor::supervise() noexcept {
  const std::size_t other = best();
  const std::size_t hits = candidates_[other].exact.hits();
  const bool is_better = hits >= candidates_[leader_].exact.hits() + kLead;
  if (is_better && is_steady(candidates_[other])) leader_ = other;
  if (exact_.misses() >= kMissesMax) {
    streak_min_ = std::min(2 * streak_min_, RecentOutcomes::kWindow);
    state_ = StreamState::kLearning;
  } else if (exact_.streak() == RecentOutcomes::kWindow) {
    lock(StreamState::kSupervision, 2);
  }
}

}  // namespace forebay::push
