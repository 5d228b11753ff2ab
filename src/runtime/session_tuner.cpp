// SPDX-License-Identifier: Apache-2.0
#include "runtime/session_tuner.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "model/candidate_tuner.hpp"

namespace forebay {

namespace {

/// Loops that a Runtime tunes. Further ones have the requested plan.
constexpr std::size_t kLoopsMax = 64;
/// A rank that reads less than this part of its equal share of the extent is not comparable.
constexpr double kServedShareMin = 0.5;

/// The reason is for people.
ReadPlan without_reason(ReadPlan plan) {
  plan.reason.clear();
  return plan;
}

}  // namespace

/// The sessions of one loop. Thread-safe.
class SessionTuner::Loop : public std::enable_shared_from_this<Loop> {
 public:
  Loop(const ReadFacts& facts,
       const ReadPlan& requested,
       std::vector<ReadCandidate> candidates,
       const Clock& clock)
      : clock_(clock),
        facts_(facts),
        requested_(without_reason(requested)),
        candidates_(std::move(candidates)),
        tuner_(features_of(candidates_), {}) {}

  /// Sessions of the same access, whose plans are equal and whose extents are of the same power of
  /// two.
  bool contains(const ReadFacts& facts, const ReadPlan& requested) const {
    return facts.access == facts_.access &&
           std::bit_width(facts.extent.size) == std::bit_width(facts_.extent.size) &&
           without_reason(requested) == requested_;
  }

  /// Sessions that deliver less than `served_min` bytes are not comparable.
  Trial next(double served_min) {
    const std::lock_guard lock(mutex_);
    const std::size_t chosen = tuner_.next(pending_);
    pending_.push_back(chosen);
    const auto close = [self = shared_from_this(), chosen](void*) { self->end_trial(chosen); };
    return {candidates_[chosen], "tuned: " + tuner_.explanation(),
            [self = shared_from_this(), chosen, served_min, begin = clock_.now(),
             guard = std::shared_ptr<void>(nullptr, close)](std::optional<std::uint64_t> bytes) {
              const auto served = static_cast<double>(bytes.value_or(0));
              if (!bytes) self->record_failure(chosen);
              if (served > 0 && served >= served_min)
                self->record(chosen, (self->clock_.now() - begin) / served);
            }};
  }

 private:
  void end_trial(std::size_t candidate) {
    const std::lock_guard lock(mutex_);
    pending_.erase(std::ranges::find(pending_, candidate));
  }

  void record_failure(std::size_t candidate) {
    const std::lock_guard lock(mutex_);
    tuner_.record_failure(candidate);
  }

  /// Times are scaled to the bytes of the first session.
  void record(std::size_t candidate, std::chrono::duration<double, std::nano> time_per_byte) {
    const std::lock_guard lock(mutex_);
    const std::chrono::duration<double> time =
        time_per_byte * static_cast<double>(facts_.extent.size);
    tuner_.record(candidate, time.count());
  }

  const Clock& clock_;
  const ReadFacts facts_;  ///< of the first session
  const ReadPlan requested_;
  const std::vector<ReadCandidate> candidates_;  ///< the default is the first
  std::mutex mutex_;
  model::CandidateTuner tuner_;
  std::vector<std::size_t> pending_;  ///< of sessions that are open
};

SessionTuner::Trial SessionTuner::next(const ReadFacts& facts,
                                       const ReadPlan& requested,
                                       std::uint32_t sharing_ranks) {
  const double served_min =
      kServedShareMin * static_cast<double>(facts.extent.size) / sharing_ranks;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      loops_, [&](const auto& loop) { return loop->contains(facts, requested); });
  if (found != loops_.end()) return (*found)->next(served_min);
  std::vector<ReadCandidate> candidates = read_candidates(facts, requested);
  if (loops_.size() >= kLoopsMax || candidates.empty()) return {};
  loops_.push_back(std::make_shared<Loop>(facts, requested, std::move(candidates), clock_));
  return loops_.back()->next(served_min);
}

}  // namespace forebay
