// SPDX-License-Identifier: Apache-2.0
// PlanSchedule: the plan of each group of steps, and the paths of bytes that follow from it. All
// ranks have the same schedule: the coordinator decides plans, and sends them with the outcomes of
// steps. Pure: no messages, no clock.
#pragma once

#include <forebay/error.hpp>
#include <forebay/write_plan.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>

#include "write/aggregation_map.hpp"

namespace forebay::write {

/// Whether steps may have another plan than the one at opening.
enum class PlanChanges : std::uint8_t { kNever, kBetweenGroups };

/// A plan and the first group that has it. Later groups have it, too, until the next change.
struct PlanChange {
  std::uint64_t first_group = 0;
  WritePlan plan;
};

/// The end of decided groups if plans do not change.
inline constexpr std::uint64_t kAllGroups = std::numeric_limits<std::uint64_t>::max();

/// Changes that a schedule keeps. A message about a group before them is about a step that all
/// ranks resolved long ago.
inline constexpr std::size_t kPlanChangesKept = 256;

/// The least memory_bytes for a plan where plans change. Each rank then divides its memory into
/// equal parts for its own bytes and for those of other ranks.
std::uint64_t memory_for_changes(const WritePlan& plan);

/// One thread at a time.
class PlanSchedule {
 public:
  struct Setup {
    RankLayout rank_layout;  ///< of the ranks that have the dataset open
    WritePlan plan;          ///< at opening; complete
    std::uint64_t first_group = 0;
    PlanChanges changes = PlanChanges::kNever;
  };
  explicit PlanSchedule(Setup setup);

  const WritePlan& plan_at_opening() const { return setup_.plan; }
  std::uint64_t first_group() const { return setup_.first_group; }
  std::uint32_t compute_rank_count() const { return setup_.rank_layout.compute_rank_count(); }
  bool may_change() const { return setup_.changes == PlanChanges::kBetweenGroups; }

  /// The plan of a group; of one that is not decided: the newest plan.
  const std::shared_ptr<const WritePlan>& plan(std::uint64_t group) const;
  /// The paths of bytes by that plan. The reference is valid until release_before().
  const AggregationMap& aggregation(std::uint64_t group) const;

  /// The paths of bytes by the newest plan, which coming groups have unless it changes.
  const AggregationMap& newest_aggregation() const;

  /// True if `rank` depends on `other` by a plan of steps in flight or of coming ones
  /// (AggregationMap::depends_on()).
  bool depends_on(RankNumber rank, RankNumber other) const;

  /// Plans of groups below this number are decided and do not change.
  std::uint64_t decided_end() const { return decided_end_; }
  bool is_decided(std::uint64_t group) const { return group < decided_end_; }
  /// The group after the last one with a step whose ordinal is below `ordinals`.
  std::uint64_t group_end(std::uint64_t ordinals) const;
  /// Does nothing if they are decided already.
  void decide_until(std::uint64_t group_end);

  /// Checks a plan for a coming group, and completes it. Fails with kInvalidArgument, naming field
  /// and value, unless these ranks can write by it with the resources that exist since opening:
  /// - It needs no more memory_bytes than the plan at opening has.
  /// - Its writers are I/O ranks only if these have the dataset open. Then a brigade is refused if
  ///   nodes without I/O ranks would make its chains run against those of other plans.
  /// - With transfer mode collective, the plan at opening has the same mode and files.
  /// - The following do not change: stripe_count, stripe_bytes, staging_full_policy,
  ///   steps_in_flight, steps_per_group, retained_steps, codec, codec_level and step_timeout.
  Result<WritePlan> complete(const WritePlan& plan) const;
  /// Adds a change of a group that is not decided. Fails as complete(), and for a group that is.
  Status add(const PlanChange& change);

  /// Frees what only groups before this one need. A late message about them is still answered.
  void release_before(std::uint64_t group);

 private:
  struct Entry {
    std::shared_ptr<const WritePlan> plan;
    /// Null while not needed. A large job has megabytes of it for each plan.
    mutable std::unique_ptr<const AggregationMap> aggregation = nullptr;
  };
  using Entries = std::map<std::uint64_t, Entry>;  ///< by first group; never empty
  Entries::const_iterator find(std::uint64_t group) const;
  Status check_fixed_values(const WritePlan& plan) const;

  const Setup setup_;
  std::uint64_t decided_end_;
  std::uint64_t released_end_ = 0;  ///< no step of an earlier group is in flight
  Entries entries_;
};

}  // namespace forebay::write
