// SPDX-License-Identifier: Apache-2.0
#include "runtime/session_tuner.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "model/candidate_tuner.hpp"

namespace forebay {

namespace {

/// Loops that a Runtime tunes. Further ones have the default plan.
constexpr std::size_t kLoopsMax = 64;
/// A session that delivers less than this share of its extent is not comparable.
constexpr double kServedShareMin = 0.5;

double log2_of(std::uint64_t value) {
  return std::log2(static_cast<double>(std::max<std::uint64_t>(value, 1)));
}

/// True if a complete plan has the values that the program sets; plan_read() shortens requests to a
/// splinter.
bool has_values_of(const ReadTuning& requested, const ReadTuning& complete) {
  const auto is_kept = [](std::uint64_t set, std::uint64_t value) {
    return set == 0 || set == value;
  };
  return is_kept(requested.request_bytes, complete.request_bytes) &&
         is_kept(requested.queue_depth, complete.queue_depth) &&
         is_kept(requested.splinter_bytes, complete.splinter_bytes);
}

/// Of the values of the default.
struct Multiples {
  double request = 1;
  double depth = 1;
  double splinter = 1;
};

/// Adds the plan with these multiples, unless it exists already or cannot be completed. Values that
/// `requested` sets stay.
void add_candidate(const ReadFacts& facts,
                   const ReadPlan& requested,
                   const Multiples& multiples,
                   std::vector<ReadPlan>& plans) {
  const ReadTuning& usual = plans.front().tuning;
  ReadPlan plan = requested;
  const auto scaled = [](double value, double factor) {
    return static_cast<std::uint64_t>(std::max(1.0, value * factor));
  };
  if (requested.tuning.request_bytes == 0)
    plan.tuning.request_bytes =
        std::bit_floor(scaled(static_cast<double>(usual.request_bytes), multiples.request));
  if (requested.tuning.queue_depth == 0)
    plan.tuning.queue_depth =
        static_cast<std::uint32_t>(scaled(usual.queue_depth, multiples.depth));
  if (requested.tuning.splinter_bytes == 0)
    plan.tuning.splinter_bytes =
        std::bit_floor(scaled(static_cast<double>(usual.splinter_bytes), multiples.splinter));
  Result<ReadPlan> complete = plan_read(facts, plan);
  if (!complete || !has_values_of(requested.tuning, complete->tuning)) return;
  complete->reason = plans.front().reason;
  if (std::ranges::find(plans, *complete) == plans.end()) plans.push_back(std::move(*complete));
}

std::vector<ReadPlan> candidates_of(const ReadFacts& facts,
                                    const ReadPlan& requested,
                                    const ReadPlan& usual) {
  std::vector<ReadPlan> plans{usual};
  for (const double splinter : {1.0, 4.0, 0.25}) {
    for (const double request : {1.0, 4.0, 0.25}) {
      for (const double depth : {1.0, 4.0, 0.25})
        add_candidate(facts, requested, {request, depth, splinter}, plans);
    }
  }
  return plans;
}

std::vector<model::TunerCandidate> features_of(const std::vector<ReadPlan>& plans) {
  std::vector<model::TunerCandidate> candidates;
  for (const ReadPlan& plan : plans)
    candidates.push_back({{log2_of(plan.tuning.request_bytes), log2_of(plan.tuning.queue_depth),
                           log2_of(plan.tuning.splinter_bytes)}});
  return candidates;
}

}  // namespace

/// Sessions of the same access and mode, whose extents are of the same power of two, and for which
/// the program sets the same values.
SessionTuner::LoopKey SessionTuner::key_of(const ReadFacts& facts,
                                           const ReadPlan& requested,
                                           const ReadPlan& usual) {
  const ReadTuning& tuning = requested.tuning;
  return {static_cast<std::uint64_t>(*usual.access),
          static_cast<std::uint64_t>(usual.mode),
          static_cast<std::uint64_t>(std::bit_width(facts.extent.size)),
          static_cast<std::uint64_t>(requested.eviction),
          requested.budget_bytes,
          requested.readahead_bytes.value_or(kAll),
          tuning.splinter_bytes,
          tuning.window_bytes,
          tuning.request_bytes,
          tuning.queue_depth};
}

/// The sessions of one loop. Thread-safe.
class SessionTuner::Loop : public std::enable_shared_from_this<Loop> {
 public:
  Loop(const ReadFacts& facts, const ReadPlan& requested, const ReadPlan& usual, const Clock& clock)
      : clock_(clock),
        plans_(candidates_of(facts, requested, usual)),
        tuner_(features_of(plans_), {}),
        reference_bytes_(facts.extent.size) {}

  /// `usual` is the default for this session.
  Trial next(const ReadFacts& facts, const ReadPlan& requested, ReadPlan usual) {
    const std::lock_guard lock(mutex_);
    const std::size_t chosen = tuner_.next(pending_);
    // The extent, and the memory that is left, may differ from those of the first session.
    ReadPlan plan = requested;
    plan.tuning.request_bytes = plans_[chosen].tuning.request_bytes;
    plan.tuning.queue_depth = plans_[chosen].tuning.queue_depth;
    plan.tuning.splinter_bytes = plans_[chosen].tuning.splinter_bytes;
    Result<ReadPlan> complete = plan_read(facts, plan);
    if (!complete) return {std::move(usual), nullptr};
    complete->reason = usual.reason + "; tuned: " + tuner_.explanation();
    pending_.push_back(chosen);
    const auto end = [self = shared_from_this(), chosen](void*) { self->end_trial(chosen); };
    return {std::move(*complete),
            [self = shared_from_this(), chosen, begin = clock_.now(), extent = facts.extent.size,
             guard = std::shared_ptr<void>(nullptr, end)](std::uint64_t bytes) {
              self->record(chosen, self->clock_.now() - begin, {bytes, extent});
            }};
  }

 private:
  struct Served {
    std::uint64_t bytes = 0;
    std::uint64_t extent = 0;
  };

  void end_trial(std::size_t candidate) {
    const std::lock_guard lock(mutex_);
    pending_.erase(std::ranges::find(pending_, candidate));
  }

  /// Times are scaled to the bytes of the first session.
  void record(std::size_t candidate, TimePoint::duration time, Served served) {
    const std::lock_guard lock(mutex_);
    const auto bytes = static_cast<double>(served.bytes);
    if (served.bytes == 0 || bytes < kServedShareMin * static_cast<double>(served.extent)) return;
    const double seconds = std::chrono::duration<double>(time).count();
    tuner_.record(candidate, seconds * static_cast<double>(reference_bytes_) / bytes);
  }

  const Clock& clock_;
  std::mutex mutex_;
  const std::vector<ReadPlan> plans_;  ///< the default is the first
  model::CandidateTuner tuner_;
  const std::uint64_t reference_bytes_;
  std::vector<std::size_t> pending_;  ///< of sessions that are open
};

Result<SessionTuner::Trial> SessionTuner::next(const ReadFacts& facts, const ReadPlan& requested) {
  auto usual = plan_read(facts, requested);
  if (!usual) return failure(usual.error());
  std::shared_ptr<Loop> loop;
  {
    const std::lock_guard lock(mutex_);
    const LoopKey key = key_of(facts, requested, *usual);
    const auto found = loops_.find(key);
    if (found == loops_.end() && loops_.size() >= kLoopsMax)
      return Trial{std::move(*usual), nullptr};
    loop = found != loops_.end()
               ? found->second
               : loops_.emplace(key, std::make_shared<Loop>(facts, requested, *usual, clock_))
                     .first->second;
  }
  return loop->next(facts, requested, std::move(*usual));
}

}  // namespace forebay
