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

/// The model does not depend on how files are accessed. The default suits most file systems, so a
/// plan with another access starts with this factor of its predicted time.
constexpr double kOtherAccessCost = 1.25;
/// Choices that are kept: more than there are groups in flight.
constexpr std::size_t kChoicesKept = 256;

std::vector<double> features_of(const WritePlan& plan) {
  const auto is = [&](Strategy strategy) { return plan.strategy == strategy ? 1.0 : 0.0; };
  return {std::log2(plan.writers),
          std::log2(plan.files),
          std::log2(static_cast<double>(plan.tuning.unit_bytes)),
          plan.tuning.access ? 1.0 : 0.0,
          is(Strategy::kFilePerProcess),
          is(Strategy::kBaton),
          is(Strategy::kGather)};
}

std::vector<model::TunerCandidate> candidates_of(const std::vector<WritePlan>& plans) {
  std::vector<model::TunerCandidate> candidates;
  for (const WritePlan& plan : plans)
    candidates.push_back({features_of(plan)});
  return candidates;
}

/// The beginning of a reason that names strategy, writers and files.
std::string shape_text(const WritePlan& plan) {
  return plan.reason.substr(0, plan.reason.find(": "));
}

}  // namespace

PlanTuner::PlanTuner(const Setup& setup)
    : facts_(setup.facts),
      plans_(candidate_plans(setup.facts, setup.requested, setup.opened)),
      requested_access_(setup.requested.tuning.access),
      earlier_(setup.earlier),
      tuner_(candidates_of(plans_), {}) {
  if (facts_.machine != nullptr) machine_ = *facts_.machine;
  facts_.machine = machine_ ? &*machine_ : nullptr;
  predict();
  if (!facts_.step_bytes.empty()) begin_search();
}

void PlanTuner::predict() {
  predicted_s_.assign(plans_.size(), 0);
  if (!machine_) return;
  const auto predicted_s = [&, totals = totals_of(facts_)](const WritePlan& plan) {
    return std::max(step_cost(*machine_, totals, plan).durable_us(), 1.0) / 1e6;
  };
  std::ranges::transform(plans_, predicted_s_.begin(), predicted_s);
  std::vector<double> assumed_s = predicted_s_;
  for (std::size_t i = 0; i < plans_.size(); ++i)
    if (plans_[i].tuning.access != requested_access_) assumed_s[i] *= kOtherAccessCost;
  tuner_.predict(assumed_s);
}

/// Resumes an earlier search of the same scale and kernel class, once the size of steps is known.
void PlanTuner::begin_search() {
  reference_bytes_ = totals_of(facts_).bytes;
  if (reference_bytes_ == 0) return;
  const auto is_same = [scope = scope_of(facts_)](const TuningEntry& entry) {
    return is_same_scope(entry.scope, scope);
  };
  const auto entry = std::ranges::find_if(earlier_, is_same);
  if (entry == earlier_.end()) return;
  const double scale = reference_bytes_ / (static_cast<double>(entry->scope.rank_bytes) *
                                           static_cast<double>(entry->scope.ranks));
  std::vector<model::TunerHistory> found(plans_.size());
  for (const TuningPoint& point : entry->points) {
    const auto has_its_plan = [&](const WritePlan& plan) { return is_same_plan(point.plan, plan); };
    const auto plan = std::ranges::find_if(plans_, has_its_plan);
    if (plan == plans_.end()) continue;
    model::TunerHistory& history = found[static_cast<std::size_t>(plan - plans_.begin())];
    history.failures += point.failures;
    for (const double seconds : point.seconds)
      history.seconds.push_back(seconds * scale);
  }
  tuner_.restore(found);
}

/// Predictions for steps of unknown size are replaced when the first one is measured.
void PlanTuner::set_step_bytes(std::uint64_t bytes) {
  if (reference_bytes_ > 0) return;
  const std::uint64_t ranks = facts_.rank_layout.compute_rank_count();
  facts_.step_bytes = {(bytes + ranks - 1) / ranks};
  predict();
  begin_search();
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
  if (step.outcome == MeasuredOutcome::kFailed) tuner_.record_failure(candidate);
  const double seconds = std::chrono::duration<double>(step.durable_time).count();
  if (step.outcome != MeasuredOutcome::kPublished || step.bytes == 0 || seconds <= 0) return;
  set_step_bytes(step.bytes);
  tuner_.record(candidate, seconds * reference_bytes_ / static_cast<double>(step.bytes));
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
    found = choices_.emplace(group, Choice{.candidate = tuner_.next(pending())}).first;
    if (choices_.size() > kChoicesKept) choices_.erase(choices_.begin());
  }
  const std::size_t candidate = found->second.candidate;
  WritePlan plan = plans_[candidate];
  const bool is_trial = tuner_.phase() != model::TunerPhase::kUse;
  plan.reason = shape_text(plan) + ": " + (is_trial ? "a trial; " : "") + tuner_.explanation();
  return plan;
}

void PlanTuner::handle_refusal(std::uint64_t ordinal) {
  const std::lock_guard lock(mutex_);
  const auto found = choices_.find(ordinal / plans_.front().tuning.steps_per_group);
  if (found == choices_.end()) return;
  tuner_.record_failure(found->second.candidate);
  const bool is_first = found == choices_.begin();
  found->second.candidate = is_first ? 0 : std::prev(found)->second.candidate;
}

std::optional<TuningEntry> PlanTuner::entry() const {
  const std::lock_guard lock(mutex_);
  const std::size_t best = tuner_.best();
  const auto to_vector = [](std::span<const double> seconds) {
    return std::vector(seconds.begin(), seconds.end());
  };
  TuningEntry entry{.scope = scope_of(facts_), .plan = tuned_values(plans_[best])};
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (tuner_.recorded_seconds(i).empty() && tuner_.failures(i) == 0) continue;
    entry.points.push_back({.plan = tuned_values(plans_[i]),
                            .predicted_s = predicted_s_[i],
                            .seconds = to_vector(tuner_.recorded_seconds(i)),
                            .failures = tuner_.failures(i)});
  }
  if (entry.points.empty() || tuner_.seconds(best).empty()) return std::nullopt;
  set_times(entry, to_vector(tuner_.seconds(best)));
  return entry;
}

}  // namespace forebay::write
