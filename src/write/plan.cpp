// SPDX-License-Identifier: Apache-2.0
// Completes a plan: strategy and placement, then writers and files, then sizes.
#include "write/plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>

#include "base/assert.hpp"
#include "format/records.hpp"
#include "write/cost.hpp"
#include "write/hashing.hpp"
#include "write/plan_checks.hpp"
#include "write/plan_limits.hpp"
#include "write/plan_shape.hpp"

namespace forebay::write {

namespace {

bool is_aggregating(Strategy strategy) {
  return strategy == Strategy::kReducedBlocking || strategy == Strategy::kBrigade ||
         strategy == Strategy::kGather;
}

/// I/O ranks write, unless the plan excludes that.
Placement choose_placement(const WriteFacts& facts, const WritePlan& requested) {
  const std::uint32_t dedicated = facts.rank_layout.io_rank_count();
  if (dedicated == 0 || requested.tuning.exchange == Exchange::kNone) return Placement::kInRank;
  const bool fits = requested.writers <= dedicated && requested.files <= dedicated;
  const bool may = requested.strategy == Strategy::kAuto
                       ? !requested.tuning.transfer_mode ||
                             requested.tuning.transfer_mode == TransferMode::kIndependent
                       : is_aggregating(requested.strategy);
  return fits && may ? Placement::kDedicated : Placement::kInRank;
}

TransferMode transfer_mode_of(Strategy strategy) {
  if (strategy == Strategy::kBaton) return TransferMode::kBaton;
  return strategy == Strategy::kCollective ? TransferMode::kCollective : TransferMode::kIndependent;
}

/// `plan` must have its shape and placement.
Exchange choose_exchange(const StepTotals& totals, const WritePlan& plan) {
  const bool in_rank = plan.tuning.placement == Placement::kInRank;
  if (in_rank && plan.writers == totals.ranks) return Exchange::kNone;
  if (plan.tuning.exchange) return *plan.tuning.exchange;
  if (plan.strategy == Strategy::kBrigade) return Exchange::kBrigade;
  if (plan.strategy == Strategy::kGather) return Exchange::kGather;
  const bool has_neighbors = in_rank ? totals.ranks_of_node_max > 1 : totals.shares_nodes;
  return has_neighbors ? Exchange::kSharedMemory : Exchange::kMessage;
}

/// Step bytes of the rank with the most; 0: unknown.
std::uint64_t known_step_bytes(const WriteFacts& facts, const StepTotals& totals) {
  return facts.step_bytes.empty() ? 0 : static_cast<std::uint64_t>(totals.rank_bytes_max);
}

/// Bytes that one lock covers; 0: there are no locks, or no alignment helps.
std::uint64_t lock_bytes(const WriteFacts& facts, const WritePlan& plan) {
  if (facts.machine == nullptr) return 0;
  const model::Machine& machine = *facts.machine;
  switch (machine.locks.unit) {
    case model::LockUnit::kStripe:
    case model::LockUnit::kObject:
      return plan.tuning.stripe_bytes != 0 ? plan.tuning.stripe_bytes : machine.layout.stripe_bytes;
    case model::LockUnit::kBytes:
      return machine.locks.unit_bytes;
    default:
      return 0;
  }
}

std::uint64_t choose_unit(const WriteFacts& facts,
                          const StepTotals& totals,
                          const WritePlan& plan) {
  if (plan.tuning.unit_bytes != 0) return plan.tuning.unit_bytes;
  const std::uint64_t grain = std::max(plan.tuning.alignment_bytes, kAlignmentBytesLimits.min);
  const std::uint64_t smallest = std::max(grain, kUnitBytesSmall);
  const std::uint64_t step = known_step_bytes(facts, totals);
  const std::uint64_t memory = plan.memory_bytes;
  const auto is_too_large = [&](std::uint64_t unit) {
    const bool for_step = unit > smallest && step != 0 && kUnitsMin * unit > step;
    const bool for_memory = unit > grain && memory != 0 && kUnitsMin * unit > memory;
    const bool for_free = unit > std::max(grain, kUnitBytesLowMemory) &&
                          facts.free_share_bytes != 0 && plan.memory_bytes == 0 &&
                          kUnitsMin * unit > facts.free_share_bytes;
    return for_step || for_memory || for_free;
  };
  std::uint64_t unit = std::max(kUnitBytesDefault, grain);
  while (is_too_large(unit))
    unit /= 2;
  return unit;
}

/// The range of one lock where writers share files, if units are multiples of it. For smaller
/// units, allocations would be larger than the bytes written to them.
std::uint64_t choose_alignment(const WriteFacts& facts, const WritePlan& plan) {
  if (plan.tuning.alignment_bytes != 0) return plan.tuning.alignment_bytes;
  const std::uint64_t smallest = kAlignmentBytesLimits.min;
  if (plan.files == plan.writers) return smallest;
  const std::uint64_t lock = std::max(smallest, lock_bytes(facts, plan));
  return plan.tuning.unit_bytes % lock == 0 ? lock : smallest;
}

/// Minimum of memory_bytes, for the rank that needs the most.
std::uint64_t memory_required(const WriteFacts& facts, const WritePlan& plan) {
  const bool takes_others = plan.tuning.placement != Placement::kDedicated &&
                            plan.writers < facts.rank_layout.compute_rank_count();
  const std::uint64_t segments = (takes_others ? 2 : 1) * kSegmentsMin * segment_bytes_of(plan);
  // Units may be larger than segments.
  return std::max(segments,
                  kUnitsMin * std::max(plan.tuning.unit_bytes, plan.tuning.alignment_bytes));
}

std::uint64_t choose_memory(const WriteFacts& facts,
                            const StepTotals& totals,
                            const WritePlan& plan) {
  const std::uint64_t least = memory_required(facts, plan);
  if (plan.memory_bytes != 0) return std::max(least, plan.memory_bytes);
  const std::uint64_t step = known_step_bytes(facts, totals);
  // Memory is allocated as the first step needs it, so a high bound costs nothing.
  const std::uint64_t for_any =
      facts.free_share_bytes == 0 ? kMemoryBytesDefault : kMemoryBytesUnknownMax;
  std::uint64_t memory = step == 0 ? for_any : step;
  memory = std::min(memory, kMemoryBytesLimits.max);
  if (facts.free_share_bytes != 0) memory = std::min(memory, facts.free_share_bytes);
  return std::max(memory / plan.tuning.unit_bytes * plan.tuning.unit_bytes, least);
}

/// Rate at which the agents of a node write; 0: unknown. Storage in memory delays no agent.
double node_storage_mb_per_s(const WriteFacts& facts,
                             const StepTotals& totals,
                             const WritePlan& plan) {
  if (facts.storage == StorageKind::kMemory) return std::numeric_limits<double>::infinity();
  if (facts.machine == nullptr) return 0;
  const double storage_us = step_cost(*facts.machine, totals, plan).storage_us;
  return storage_us == 0 ? 0 : totals.bytes / storage_us / totals.nodes;
}

/// True if `a` has fewer free cores for each rank than `b`, or as few for more ranks.
bool is_scarcer(const HashingNode& a, const HashingNode& b) {
  const std::uint64_t left = std::uint64_t{cores_for_agents(a)} * b.ranks;
  const std::uint64_t right = std::uint64_t{cores_for_agents(b)} * a.ranks;
  return left < right || (left == right && a.ranks > b.ranks);
}

/// The node with the fewest free cores for each rank, because each step waits for all nodes.
HashingNode scarcest_node(const WriteFacts& facts) {
  std::map<std::uint32_t, std::uint32_t> ranks_of;
  const std::vector<std::uint32_t>& nodes = facts.rank_layout.node_of_compute_rank;
  // Neighbors are mostly on one node, and a lookup costs more than a comparison.
  for (auto begin = nodes.begin(); begin != nodes.end();) {
    const auto end = std::find_if(begin, nodes.end(), [&](auto node) { return node != *begin; });
    ranks_of[*begin] += static_cast<std::uint32_t>(end - begin);
    begin = end;
  }
  std::optional<HashingNode> scarcest;
  for (const auto& [node, ranks] : ranks_of) {
    const HashingNode one{.ranks = ranks, .cores = facts.cores_of(node)};
    if (!scarcest || is_scarcer(one, *scarcest)) scarcest = one;
  }
  return *scarcest;
}

/// `plan` must be complete except for this. Returns the reason; empty if the stage was given.
std::string choose_checksum_stage(const WriteFacts& facts,
                                  const StepTotals& totals,
                                  WritePlan& plan) {
  if (plan.tuning.checksum_stage != ChecksumStage::kAuto) return {};
  if (plan.codec != Codec::kNone) {
    plan.tuning.checksum_stage = ChecksumStage::kCopy;
    return "checksums by put(), because put() compresses";
  }
  HashingNode node = scarcest_node(facts);
  if (cores_for_agents(node) > 0)
    node.storage_mb_per_s = node_storage_mb_per_s(facts, totals, plan);
  const HashingCost cost = hashing_cost(node);
  plan.tuning.checksum_stage = cost.choice();
  return reason_of(node, cost);
}

void fill_defaults(WritePlan& plan) {
  if (plan.steps_in_flight == 0) plan.steps_in_flight = kStepsInFlightDefault;
  if (plan.tuning.steps_per_group == 0) plan.tuning.steps_per_group = 1;
  if (plan.codec == Codec::kZstd && plan.codec_level == 0) plan.codec_level = kCodecLevelDefault;
  if (plan.step_timeout.count() == 0) plan.step_timeout = kStepTimeoutDefault;
}

std::string reason_of(const WriteFacts& facts, const WritePlan& plan, const std::string& why) {
  std::string reason = std::string(name_of(plan.strategy)) + ", " + std::to_string(plan.writers) +
                       (plan.writers == 1 ? " writer, " : " writers, ") +
                       std::to_string(plan.files) + (plan.files == 1 ? " file" : " files");
  if (plan.tuning.placement == Placement::kDedicated) reason += ", by I/O ranks";
  reason += ": " + why;
  if (!facts.storage_reason.empty()) reason += "; " + facts.storage_reason;
  return reason;
}

}  // namespace

std::uint64_t WriteFacts::bytes_of(RankNumber rank) const {
  if (step_bytes.empty()) return 0;
  return step_bytes.size() == 1 ? step_bytes.front() : step_bytes.at(rank);
}

std::uint32_t WriteFacts::cores_of(std::uint32_t node) const {
  if (cores_of_node.empty()) return 0;
  return cores_of_node.size() == 1 ? cores_of_node.front() : cores_of_node.at(node);
}

void complete_shape(const WriteFacts& facts, const StepTotals& totals, WritePlan& plan) {
  plan.tuning.transfer_mode = transfer_mode_of(plan.strategy);
  plan.tuning.exchange = choose_exchange(totals, plan);
  plan.tuning.unit_bytes = choose_unit(facts, totals, plan);
  plan.tuning.alignment_bytes = choose_alignment(facts, plan);
  plan.memory_bytes = choose_memory(facts, totals, plan);
  fill_defaults(plan);
}

Result<WritePlan> plan_write(const WriteFacts& facts, const WritePlan& requested) {
  FOREBAY_ASSERT(facts.rank_layout.compute_rank_count() > 0);
  FOREBAY_ASSERT(facts.step_bytes.size() <= 1 ||
                 facts.step_bytes.size() == facts.rank_layout.compute_rank_count());
  if (Status right = check_numbers(requested); !right) return failure(right.error());
  WritePlan plan = requested;
  if (!plan.tuning.placement) plan.tuning.placement = choose_placement(facts, plan);
  plan.strategy = implied_strategy(facts, plan);
  if (Status right = check_shape(facts, plan); !right) return failure(right.error());
  const StepTotals totals = totals_of(facts);
  const PlanShape shape = choose_shape(facts, totals, plan);
  plan.strategy = shape.strategy;
  plan.writers = shape.writers;
  plan.files = shape.files;
  complete_shape(facts, totals, plan);
  plan.reason = reason_of(facts, plan, shape.reason);
  if (requested.memory_bytes != 0 && requested.memory_bytes < plan.memory_bytes)
    plan.reason += "; memory_bytes is raised from " + std::to_string(requested.memory_bytes) +
                   " to " + std::to_string(plan.memory_bytes) + ", the minimum for this plan";
  if (const std::string why = choose_checksum_stage(facts, totals, plan); !why.empty())
    plan.reason += "; " + why;
  return plan;
}

std::uint64_t segment_bytes_of(const WritePlan& plan) {
  return std::min(format::round_up(plan.tuning.unit_bytes, format::kPieceBytes), kChunkBytesMax);
}

std::chrono::milliseconds stall_max(const WritePlan& plan) {
  return std::min(plan.step_timeout, kStallMax);
}

std::chrono::milliseconds put_wait_max(const WritePlan& plan) {
  if (plan.staging_full_policy == StagingFullPolicy::kFail)
    return std::chrono::milliseconds::zero();
  return plan.step_timeout;
}

}  // namespace forebay::write
