// SPDX-License-Identifier: Apache-2.0
#include "write/plan_schedule.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "write/plan.hpp"
#include "write/plan_checks.hpp"
#include "write/plan_limits.hpp"

namespace forebay::write {

namespace {

/// True if each rank forwards to one before it in the order of nodes, then of ranks. A rank that
/// forwards has memory only while the next one does. So chains of steps in flight, by whatever
/// plans, do not wait for each other in a circle.
bool are_chains_ordered(const RankLayout& rank_layout, const WritePlan& plan) {
  const AggregationMap aggregation(rank_layout, plan);
  std::map<std::uint32_t, RankNumber> first_of_node;
  for (RankNumber rank = 0; rank < rank_layout.compute_rank_count(); ++rank)
    first_of_node.try_emplace(rank_layout.node_of(rank), rank);
  const auto order = [&](RankNumber rank) {
    return std::pair(first_of_node.at(rank_layout.node_of(rank)), rank);
  };
  for (RankNumber rank = 0; rank < rank_layout.compute_rank_count(); ++rank) {
    const auto next = aggregation.next_hop(rank);
    const bool is_forwarded = next && *next < rank_layout.compute_rank_count();
    if (is_forwarded && order(*next) > order(rank)) return false;
  }
  return true;
}

}  // namespace

std::uint64_t memory_for_changes(const WritePlan& plan) {
  return 2 * kSegmentsMin * segment_bytes_of(plan);
}

PlanSchedule::PlanSchedule(Setup setup) : setup_(std::move(setup)), decided_end_(kAllGroups) {
  if (may_change()) decided_end_ = group_end(setup_.plan.steps_in_flight);
  entries_.emplace(setup_.first_group, Entry{std::make_shared<const WritePlan>(setup_.plan)});
}

std::uint64_t PlanSchedule::group_end(std::uint64_t ordinals) const {
  const std::uint64_t steps_per_group = setup_.plan.tuning.steps_per_group;
  return setup_.first_group + (ordinals + steps_per_group - 1) / steps_per_group;
}

void PlanSchedule::decide_until(std::uint64_t group_end) {
  decided_end_ = std::max(decided_end_, group_end);
}

/// A group before the first entry is of an earlier opening, or its change is not kept any more.
PlanSchedule::Entries::const_iterator PlanSchedule::find(std::uint64_t group) const {
  const auto next = entries_.upper_bound(group);
  return next == entries_.begin() ? next : std::prev(next);
}

const std::shared_ptr<const WritePlan>& PlanSchedule::plan(std::uint64_t group) const {
  return find(group)->second.plan;
}

const AggregationMap& PlanSchedule::aggregation(std::uint64_t group) const {
  const Entry& entry = find(group)->second;
  if (!entry.aggregation)
    entry.aggregation = std::make_unique<const AggregationMap>(setup_.rank_layout, *entry.plan);
  return *entry.aggregation;
}

const AggregationMap& PlanSchedule::newest_aggregation() const {
  return aggregation(entries_.rbegin()->first);
}

bool PlanSchedule::depends_on(RankNumber rank, RankNumber other) const {
  return std::any_of(find(released_end_), entries_.end(), [&](const auto& one) {
    return aggregation(one.first).depends_on(rank, other);
  });
}

Status PlanSchedule::check_fixed_values(const WritePlan& plan) const {
  const WritePlan& opened = setup_.plan;
  const auto changed = [](std::string_view field) -> Status {
    return invalid_plan(std::string(field) + " differs from the plan at opening, and is fixed " +
                        "then: leave it unchanged");
  };
  if (plan.tuning.stripe_count != opened.tuning.stripe_count) return changed("stripe_count");
  if (plan.tuning.stripe_bytes != opened.tuning.stripe_bytes) return changed("stripe_bytes");
  if (plan.staging_full_policy != opened.staging_full_policy) return changed("staging_full_policy");
  if (plan.steps_in_flight != opened.steps_in_flight) return changed("steps_in_flight");
  if (plan.tuning.steps_per_group != opened.tuning.steps_per_group)
    return changed("steps_per_group");
  if (plan.retained_steps != opened.retained_steps) return changed("retained_steps");
  if (plan.codec != opened.codec) return changed("codec");
  if (plan.codec_level != opened.codec_level) return changed("codec_level");
  if (plan.step_timeout != opened.step_timeout) return changed("step_timeout_ms");
  return {};
}

Result<WritePlan> PlanSchedule::complete(const WritePlan& plan) const {
  auto complete = plan_write({.rank_layout = setup_.rank_layout}, plan);
  if (!complete) return complete;
  const WritePlan& opened = setup_.plan;
  complete->reason = plan.reason;
  if (const Status fixed = check_fixed_values(*complete); !fixed) return failure(fixed.error());
  if (complete->memory_bytes > opened.memory_bytes)
    return invalid_plan("memory_bytes is " + std::to_string(complete->memory_bytes) +
                        ", and the dataset was opened with " + std::to_string(opened.memory_bytes) +
                        ": write at most as many");
  if (memory_for_changes(*complete) > opened.memory_bytes)
    return invalid_plan("unit_bytes is " + std::to_string(complete->tuning.unit_bytes) +
                        ", which takes " + std::to_string(memory_for_changes(*complete)) +
                        " bytes of memory, and the dataset was opened with memory_bytes of " +
                        std::to_string(opened.memory_bytes) + ": write a smaller unit");
  if (complete->tuning.exchange == Exchange::kBrigade &&
      !are_chains_ordered(setup_.rank_layout, *complete))
    return invalid_plan(
        "exchange is brigade, and its chains run against those of other plans, so that ranks could "
        "wait for each other: choose message or shared-memory");
  const bool has_communicators =
      opened.tuning.transfer_mode == TransferMode::kCollective && opened.files == complete->files;
  if (complete->tuning.transfer_mode == TransferMode::kCollective && !has_communicators)
    return invalid_plan(
        "transfer_mode is collective, and the communicators of its files do not exist: open the "
        "dataset with a collective plan of as many files, or choose another mode");
  return complete;
}

Status PlanSchedule::add(const PlanChange& change) {
  if (change.first_group < decided_end_ || change.first_group <= entries_.rbegin()->first)
    return invalid_plan("group " + std::to_string(change.first_group) + " has a plan already");
  auto plan = complete(change.plan);
  if (!plan) return failure(plan.error());
  entries_.emplace(change.first_group, Entry{std::make_shared<const WritePlan>(std::move(*plan))});
  if (entries_.size() > kPlanChangesKept) entries_.erase(entries_.begin());
  return {};
}

void PlanSchedule::release_before(std::uint64_t group) {
  released_end_ = std::max(released_end_, group);
  for (auto entry = entries_.cbegin(); entry != find(released_end_); ++entry)
    entry->second.aggregation.reset();
}

}  // namespace forebay::write
