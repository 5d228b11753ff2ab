// SPDX-License-Identifier: Apache-2.0
#include "write/plan_tuner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "write/cost.hpp"
#include "write/plan_candidates.hpp"
#include "write/tuned_plan.hpp"

namespace forebay::write {

namespace {

/// Choices that are kept: more than there are groups in flight.
constexpr std::size_t kChoicesKept = 256;

std::vector<double> features_of(const WritePlan& plan) {
  const auto is = [&](Strategy strategy) { return plan.strategy == strategy ? 1.0 : 0.0; };
  return {std::log2(plan.writers),
          std::log2(plan.files),
          std::log2(static_cast<double>(plan.tuning.unit_bytes)),
          is(Strategy::kFilePerProcess),
          is(Strategy::kBaton),
          is(Strategy::kGather)};
}

/// The beginning of a reason that names strategy, writers and files.
std::string shape_text(const WritePlan& plan) {
  return plan.reason.substr(0, plan.reason.find(": "));
}

}  // namespace

PlanTuner::PlanTuner(const Setup& setup)
    : facts_(setup.facts),
      plans_(candidate_plans(setup.facts, setup.requested, setup.opened)),
      search_(setup.search) {
  if (facts_.machine != nullptr) machine_ = *facts_.machine;
  facts_.machine = machine_ ? &*machine_ : nullptr;
  if (!facts_.step_bytes.empty()) reference_bytes_ = totals_of(facts_).bytes;
  restart_search();
}

/// Predicts the costs again, and keeps all measurements.
void PlanTuner::restart_search() {
  std::vector<model::TunerCandidate> candidates;
  const StepTotals totals = totals_of(facts_);
  for (const WritePlan& plan : plans_) {
    candidates.push_back({features_of(plan)});
    if (!machine_) continue;
    const double durable_us = step_cost(*machine_, totals, plan).durable_us();
    candidates.back().predicted_s = std::max(durable_us, 1.0) / 1e6;
  }
  predicted_s_.clear();
  for (const model::TunerCandidate& candidate : candidates)
    predicted_s_.push_back(machine_ ? candidate.predicted_s : 0);
  const auto previous = std::exchange(
      tuner_, std::make_unique<model::CandidateTuner>(std::move(candidates), search_));
  if (!previous) return;
  std::vector<std::vector<double>> seconds;
  for (std::size_t i = 0; i < plans_.size(); ++i)
    seconds.emplace_back(previous->seconds(i).begin(), previous->seconds(i).end());
  tuner_->restore(seconds);
}

/// Predictions for steps of unknown size are replaced when the first one is measured.
void PlanTuner::set_step_bytes(std::uint64_t bytes) {
  if (reference_bytes_ == 0) reference_bytes_ = static_cast<double>(bytes);
  if (!facts_.step_bytes.empty()) return;
  const std::uint64_t ranks = facts_.rank_layout.compute_rank_count();
  facts_.step_bytes = {(bytes + ranks - 1) / ranks};
  if (machine_) restart_search();
}

void PlanTuner::resume(const TuningEntry& entry) {
  const std::lock_guard lock(mutex_);
  const double bytes =
      static_cast<double>(entry.scope.rank_bytes) * static_cast<double>(entry.scope.ranks);
  set_step_bytes(entry.scope.rank_bytes * entry.scope.ranks);
  std::vector<std::vector<double>> scaled(plans_.size());
  for (const TuningPoint& point : entry.points) {
    const auto is_same = [&](const WritePlan& plan) {
      return tuned_values(plan) == tuned_values(point.plan);
    };
    const auto found = std::ranges::find_if(plans_, is_same);
    if (found == plans_.end()) continue;
    for (const double seconds : point.seconds)
      scaled[static_cast<std::size_t>(found - plans_.begin())].push_back(seconds *
                                                                         reference_bytes_ / bytes);
  }
  tuner_->restore(scaled);
}

/// Steps before the first choice have the default.
std::size_t PlanTuner::mark_measured(std::uint64_t ordinal) {
  const auto found = choices_.find(ordinal / plans_.front().tuning.steps_per_group);
  if (found == choices_.end()) return 0;
  found->second.is_measured = true;
  return found->second.candidate;
}

void PlanTuner::record(const StepMeasurement& step) {
  const std::lock_guard lock(mutex_);
  const std::size_t candidate = mark_measured(step.ordinal);
  if (!step.is_published) return tuner_->record_failure(candidate);
  const double seconds = std::chrono::duration<double>(step.durable_time).count();
  if (step.bytes == 0 || seconds <= 0) return;
  set_step_bytes(step.bytes);
  tuner_->record(candidate, seconds * reference_bytes_ / static_cast<double>(step.bytes));
}

std::vector<std::size_t> PlanTuner::pending() const {
  std::vector<std::size_t> candidates;
  for (const auto& [group, choice] : choices_)
    if (!choice.is_measured) candidates.push_back(choice.candidate);
  return candidates;
}

WritePlan PlanTuner::choose(std::uint64_t ordinal) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t group = ordinal / plans_.front().tuning.steps_per_group;
  auto found = choices_.find(group);
  if (found == choices_.end()) {
    found = choices_.emplace(group, Choice{.candidate = tuner_->next(pending())}).first;
    if (choices_.size() > kChoicesKept) choices_.erase(choices_.begin());
  }
  const std::size_t candidate = found->second.candidate;
  WritePlan plan = plans_[candidate];
  const bool is_trial = tuner_->phase() != model::TunerPhase::kUse;
  plan.reason = shape_text(plan) + ": " + (is_trial ? "a trial; " : "") + tuner_->explanation();
  return plan;
}

std::optional<TuningEntry> PlanTuner::entry() const {
  const std::lock_guard lock(mutex_);
  const std::size_t best = tuner_->best();
  if (tuner_->seconds(best).empty()) return std::nullopt;
  TuningEntry entry{.scope = scope_of(facts_), .plan = tuned_values(plans_[best])};
  entry.scope.rank_bytes =
      static_cast<std::uint64_t>(reference_bytes_ / facts_.rank_layout.compute_rank_count());
  const auto values = [&](std::size_t i) {
    const auto seconds = tuner_->seconds(i);
    return std::vector(seconds.begin(), seconds.end());
  };
  set_times(entry, values(best));
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (tuner_->seconds(i).empty() && tuner_->failures(i) == 0) continue;
    entry.points.push_back({.plan = tuned_values(plans_[i]),
                            .predicted_s = predicted_s_[i],
                            .seconds = values(i),
                            .failures = tuner_->failures(i)});
  }
  return entry;
}

}  // namespace forebay::write
