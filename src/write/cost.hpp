// SPDX-License-Identifier: Apache-2.0
// step_cost(): the cost of a step with a plan on a machine, in closed form: a microsecond for each
// plan, whatever the number of ranks, so that hundreds of plans can be compared when a dataset is
// opened. Tests compare it with the simulation of a step, event by event.
#pragma once

#include <algorithm>
#include <span>

#include "write/plan.hpp"

namespace forebay::write {

/// Sums over the ranks of a job, from which formulas take the loads of writers, files and servers.
struct StepTotals {
  double ranks = 1;  ///< compute ranks
  double nodes = 1;  ///< with compute ranks
  double ranks_of_node_max = 1;
  bool shares_nodes = false;  ///< an I/O rank is on a node with compute ranks
  double bytes = 0;           ///< of all ranks; kAssumedStepBytes for each if unknown
  double rank_bytes_max = 0;
  double rank_bytes_deviation = 0;  ///< standard deviation
};

/// The totals of ranks and nodes, without bytes. Takes time in proportion to the ranks.
StepTotals totals_of(const RankLayout& layout);

/// `totals` of ranks and nodes, with those of bytes: as in WriteFacts::step_bytes.
StepTotals with_bytes(StepTotals totals, std::span<const std::uint64_t> step_bytes);

inline StepTotals totals_of(const WriteFacts& facts) {
  return with_bytes(totals_of(facts.rank_layout), facts.step_bytes);
}

/// The times of one step, in microseconds. The computation of the application is not included,
/// because it is the same for all plans.
struct StepCost {
  double metadata_us = 0;  ///< until the last file is created, and opened by all its writers
  /// Until the last byte is written, including metadata. Assumes that the writers have all bytes at
  /// the start.
  double storage_us = 0;
  double exchange_us = 0;  ///< until all bytes are at their writers
  double written_us = 0;   ///< until the last byte is written: exchange and storage together
  double sync_us = 0;      ///< syncs of files, and publication
  /// For which put() blocks the application: the copy to staging memory, and the wait for memory.
  double perceived_us = 0;

  double durable_us() const { return written_us + sync_us; }
};

/// Bytes that a rank is assumed to put in a step while the real number is unknown.
inline constexpr std::uint64_t kAssumedStepBytes = 64_MiB;

/// `plan` must be complete, as plan_write() returned it for these facts, which must have a machine.
/// Loads of single writers, files and servers follow from the totals: ranks are spread over nodes,
/// writers over ranks and files over servers as evenly as possible. Sizes that differ count by
/// their deviation.
StepCost step_cost(const model::Machine& machine, const StepTotals& totals, const WritePlan& plan);

/// Time for which the servers work on the step, without locks, if the busiest one has this many
/// bytes.
double servers_us(const model::Machine& machine,
                  const StepTotals& totals,
                  const WritePlan& plan,
                  double busiest_bytes);

inline StepCost step_cost(const WriteFacts& facts, const WritePlan& plan) {
  return step_cost(*facts.machine, totals_of(facts), plan);
}

}  // namespace forebay::write
