// SPDX-License-Identifier: Apache-2.0
#include "write/plan_decider.hpp"

#include <utility>

namespace forebay::write {

namespace {

bool has_same_values(WritePlan plan, const WritePlan& other) {
  plan.reason = other.reason;
  return plan == other;
}

}  // namespace

PlanDecider::PlanDecider(Setup setup, PlanSchedule& plans)
    : setup_(std::move(setup)), plans_(plans), first_open_group_(plans.first_group()) {}

std::uint64_t PlanDecider::first_ordinal(std::uint64_t group) const {
  return (group - plans_.first_group()) * plans_.plan_at_opening().tuning.steps_per_group;
}

/// The number of steps that are resolved, without those after an unresolved group.
std::uint64_t PlanDecider::resolved_steps() {
  const std::uint64_t steps_per_group = plans_.plan_at_opening().tuning.steps_per_group;
  auto first = counts_.begin();
  while (first != counts_.end() && first->first == first_open_group_ &&
         first->second >= steps_per_group) {
    first = counts_.erase(first);
    ++first_open_group_;
  }
  const bool is_partial = first != counts_.end() && first->first == first_open_group_;
  return first_ordinal(first_open_group_) + (is_partial ? first->second : 0);
}

/// Logs a refusal that is repeated for each group once.
void PlanDecider::log_refusal(const std::string& message) {
  if (std::exchange(last_refusal_, message) == message || setup_.log == nullptr) return;
  setup_.log->write(LogLevel::kWarning,
                    setup_.path + ": a plan for coming steps is not used: " + message);
}

std::vector<PlanChange> PlanDecider::handle_resolved(const StepId& id, StepMeasurement step) {
  std::vector<PlanChange> changes;
  if (id.group < first_open_group_) return changes;  // ranks have begun different steps
  std::uint64_t& count = counts_[id.group];
  step.ordinal = first_ordinal(id.group) + count++;
  setup_.chooser->record(step);
  const std::uint64_t end =
      plans_.group_end(resolved_steps() + plans_.plan_at_opening().steps_in_flight);
  for (std::uint64_t group = plans_.decided_end(); group < end; ++group) {
    const PlanChange change{group, setup_.chooser->choose(first_ordinal(group))};
    if (!has_same_values(change.plan, *plans_.plan(group))) {
      if (const Status added = plans_.add(change); added) {
        changes.push_back({group, *plans_.plan(group)});
      } else {
        log_refusal(added.error().message());
        setup_.chooser->handle_refusal(first_ordinal(group));
      }
    }
    plans_.decide_until(group + 1);
  }
  return changes;
}

}  // namespace forebay::write
