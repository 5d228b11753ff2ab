// SPDX-License-Identifier: Apache-2.0
// A plan, field by field: strategy and placement, writers and files, then sizes.
#include "write/plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "base/assert.hpp"
#include "format/records.hpp"
#include "write/cost.hpp"
#include "write/hashing.hpp"
#include "write/plan_checks.hpp"
#include "write/plan_limits.hpp"
#include "write/plan_shape.hpp"

namespace forebay::write {

namespace {

bool hands_over(Strategy strategy) {
  return strategy == Strategy::kReducedBlocking || strategy == Strategy::kBrigade ||
         strategy == Strategy::kGather;
}

/// Ranks that are given to I/O write, unless that is not what the plan says.
Placement choose_placement(const WriteFacts& facts, const WritePlan& wanted) {
  const std::uint32_t dedicated = facts.crew.dedicated();
  if (dedicated == 0 || wanted.hand_off == HandOff::kNone) return Placement::kInRank;
  const bool fits = wanted.writers <= dedicated && wanted.files <= dedicated;
  const bool may = wanted.strategy == Strategy::kAuto
                       ? !wanted.schedule || wanted.schedule == Schedule::kIndependent
                       : hands_over(wanted.strategy);
  return fits && may ? Placement::kDedicated : Placement::kInRank;
}

Schedule schedule_of(Strategy strategy) {
  return plan_of(strategy).schedule.value_or(Schedule::kIndependent);
}

/// `plan` has its shape and placement.
HandOff choose_hand_off(const WriteFacts& facts, const WritePlan& plan) {
  const bool in_rank = plan.placement == Placement::kInRank;
  if (in_rank && plan.writers == facts.crew.computing()) return HandOff::kNone;
  if (plan.hand_off) return *plan.hand_off;
  if (plan.strategy == Strategy::kBrigade) return HandOff::kBrigade;
  if (plan.strategy == Strategy::kGather) return HandOff::kGather;
  const Routes routes(facts.crew, plan);
  for (Rank rank = 0; rank < routes.computing(); ++rank) {
    const Rank writer = routes.writer_of(rank);
    const bool together = facts.crew.node_of(rank) == facts.crew.node_of(writer);
    if (writer != rank && together) return HandOff::kSharedMemory;
  }
  return HandOff::kMessage;
}

/// What one lock covers; 0: there are none, or no alignment helps.
std::uint64_t lock_bytes(const WriteFacts& facts, const WritePlan& plan) {
  if (facts.machine == nullptr) return 0;
  const model::Machine& machine = *facts.machine;
  switch (machine.locks.unit) {
    case model::LockUnit::kStripe:
    case model::LockUnit::kObject:
      return plan.stripe_bytes != 0 ? plan.stripe_bytes : machine.layout.stripe_bytes;
    case model::LockUnit::kBytes:
      return machine.locks.unit_bytes;
    default:
      return 0;
  }
}

/// As much memory as there may be; 0: no limit is known.
std::uint64_t memory_most(const WriteFacts& facts, const WritePlan& plan) {
  return plan.memory_bytes != 0 ? plan.memory_bytes : facts.available_bytes;
}

std::uint64_t choose_unit(const WriteFacts& facts, const WritePlan& plan) {
  if (plan.unit_bytes != 0) return plan.unit_bytes;
  const std::uint64_t grain = std::max(plan.alignment_bytes, kAlignmentBytesLimits.min);
  const std::uint64_t smallest = std::max(grain, kUnitBytesSmall);
  const std::uint64_t step = facts.bytes_most();
  const std::uint64_t memory = memory_most(facts, plan);
  const auto is_much = [&](std::uint64_t unit) {
    const bool for_step = unit > smallest && step != 0 && kUnitsMin * unit > step;
    const bool for_memory = unit > grain && memory != 0 && kUnitsMin * unit > memory;
    const bool for_free = unit > std::max(grain, kUnitBytesOfLittleMemory) &&
                          facts.free_bytes != 0 && plan.memory_bytes == 0 &&
                          kUnitsMin * unit > facts.free_bytes;
    return for_step || for_memory || for_free;
  };
  std::uint64_t unit = std::max(kUnitBytesDefault, grain);
  while (is_much(unit))
    unit /= 2;
  return unit;
}

/// Locks are followed as long as that does not make places larger than what is written there.
std::uint64_t choose_alignment(const WriteFacts& facts, const WritePlan& plan) {
  if (plan.alignment_bytes != 0) return plan.alignment_bytes;
  const std::uint64_t smallest = kAlignmentBytesLimits.min;
  if (plan.files == plan.writers) return smallest;
  const std::uint64_t lock = std::max(smallest, lock_bytes(facts, plan));
  return plan.unit_bytes % lock == 0 ? lock : smallest;
}

/// Of the rank that needs most.
std::uint64_t memory_least(const WriteFacts& facts, const WritePlan& plan) {
  const bool takes_others =
      plan.placement != Placement::kDedicated && plan.writers < facts.crew.computing();
  const std::uint64_t segments = (takes_others ? 2 : 1) * kSegmentsMin * segment_bytes_of(plan);
  // Units may be larger than segments.
  return std::max(segments, kUnitsMin * std::max(plan.unit_bytes, plan.alignment_bytes));
}

Result<std::uint64_t> choose_memory(const WriteFacts& facts, const WritePlan& plan) {
  const std::uint64_t least = memory_least(facts, plan);
  if (facts.available_bytes != 0 && std::max(least, plan.memory_bytes) > facts.available_bytes) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "plan how a dataset is written",
                    .cause = "a rank can give " + std::to_string(facts.available_bytes) +
                             " bytes to staging, and the plan needs " +
                             std::to_string(std::max(least, plan.memory_bytes)) +
                             ": make memory_bytes or unit_bytes smaller"});
  }
  if (plan.memory_bytes != 0) return std::max(least, plan.memory_bytes);
  const std::uint64_t step = facts.bytes_most();
  // Memory is taken as the first step needs it, so this is a bound and no cost.
  const std::uint64_t for_any = facts.free_bytes == 0 ? kMemoryBytesDefault : kMemoryBytesNewMax;
  std::uint64_t memory = step == 0 ? for_any : step;
  memory = std::min(memory, kMemoryBytesLimits.max);
  if (facts.free_bytes != 0) memory = std::min(memory, facts.free_bytes);
  if (facts.available_bytes != 0) memory = std::min(memory, facts.available_bytes);
  return std::max(memory / plan.unit_bytes * plan.unit_bytes, least);
}

Status choose_sizes(const WriteFacts& facts, WritePlan& plan) {
  plan.unit_bytes = choose_unit(facts, plan);
  plan.alignment_bytes = choose_alignment(facts, plan);
  const Result<std::uint64_t> memory = choose_memory(facts, plan);
  if (!memory) return failure(memory.error());
  plan.memory_bytes = *memory;
  return {};
}

/// How fast agents of a node get rid of bytes; 0: not known. Memory never makes anybody wait.
double storage_of_node(const WriteFacts& known, const WritePlan& plan) {
  if (known.storage == StorageKind::kMemory) return std::numeric_limits<double>::infinity();
  if (known.machine == nullptr) return 0;
  WriteFacts facts = known;
  if (facts.step_bytes.empty()) facts.step_bytes = {kAssumedStepBytes};
  double bytes = 0;
  for (Rank rank = 0; rank < facts.crew.computing(); ++rank)
    bytes += static_cast<double>(facts.bytes_of(rank));
  const double storage_us = step_cost(facts, plan).storage_us;
  return storage_us == 0 ? 0 : bytes / storage_us / facts.crew.node_count();
}

/// `plan` is complete but for this. Returns why; nothing where it was given.
std::string choose_checksums(const WriteFacts& facts, WritePlan& plan) {
  if (plan.checksum_by != ChecksumBy::kAuto) return {};
  if (plan.codec != Codec::kNone) {
    plan.checksum_by = ChecksumBy::kCopy;
    return "checksums on the way, since put() compresses";
  }
  HashingPlace place{.ranks = facts.ranks_of_node_most(), .cores = facts.cores_of_node};
  if (cores_for_agents(place) > 0) place.storage_mb_per_s = storage_of_node(facts, plan);
  const HashingCost cost = hashing_cost(place);
  plan.checksum_by = cost.cheaper();
  return reason_of(place, cost);
}

void fill_defaults(WritePlan& plan) {
  if (plan.steps_in_flight == 0) plan.steps_in_flight = kStepsInFlightDefault;
  if (plan.steps_per_group == 0) plan.steps_per_group = 1;
  if (plan.codec == Codec::kZstd && plan.codec_level == 0) plan.codec_level = kCodecLevelDefault;
  if (plan.deadline.count() == 0) plan.deadline = kDeadlineDefault;
}

std::string reason_of(const WriteFacts& facts, const WritePlan& plan, const std::string& why) {
  std::string reason = std::string(name_of(plan.strategy)) + ", " + std::to_string(plan.writers) +
                       (plan.writers == 1 ? " writer, " : " writers, ") +
                       std::to_string(plan.files) + (plan.files == 1 ? " file" : " files");
  if (plan.placement == Placement::kDedicated) reason += ", by ranks given to I/O";
  reason += ": " + why;
  if (!facts.storage_reason.empty()) reason += "; " + facts.storage_reason;
  return reason;
}

}  // namespace

std::uint64_t WriteFacts::bytes_of(Rank rank) const {
  if (step_bytes.empty()) return 0;
  return step_bytes.size() == 1 ? step_bytes.front() : step_bytes.at(rank);
}

std::uint64_t WriteFacts::bytes_most() const {
  return step_bytes.empty() ? 0 : *std::ranges::max_element(step_bytes);
}

std::uint32_t WriteFacts::server_count() const {
  return servers == 0 && machine != nullptr ? machine->server_count() : servers;
}

std::uint32_t WriteFacts::ranks_of_node_most() const {
  std::map<std::uint32_t, std::uint32_t> ranks_of;
  for (const std::uint32_t node : crew.node_of_computing)
    ++ranks_of[node];
  return std::ranges::max_element(ranks_of, {}, &decltype(ranks_of)::value_type::second)->second;
}

Result<WritePlan> plan_write(const WriteFacts& facts, const WritePlan& wanted) {
  FOREBAY_ASSERT(facts.crew.computing() > 0);
  FOREBAY_ASSERT(facts.step_bytes.size() <= 1 || facts.step_bytes.size() == facts.crew.computing());
  if (Status right = check_numbers(wanted); !right) return failure(right.error());
  WritePlan plan = wanted;
  if (!plan.placement) plan.placement = choose_placement(facts, plan);
  plan.strategy = implied_strategy(facts, plan);
  if (Status right = check_shape(facts, plan); !right) return failure(right.error());
  const Shape shape = choose_shape(facts, plan);
  plan.strategy = shape.strategy;
  plan.writers = shape.writers;
  plan.files = shape.files;
  plan.schedule = schedule_of(plan.strategy);
  plan.hand_off = choose_hand_off(facts, plan);
  if (Status right = choose_sizes(facts, plan); !right) return failure(right.error());
  fill_defaults(plan);
  plan.reason = reason_of(facts, plan, shape.reason);
  if (wanted.memory_bytes != 0 && wanted.memory_bytes < plan.memory_bytes)
    plan.reason += "; memory_bytes is " + std::to_string(plan.memory_bytes) +
                   ", the least for this, and not " + std::to_string(wanted.memory_bytes);
  if (const std::string why = choose_checksums(facts, plan); !why.empty())
    plan.reason += "; " + why;
  return plan;
}

std::uint64_t segment_bytes_of(const WritePlan& plan) {
  return std::min(format::round_up(plan.unit_bytes, format::kPieceBytes), kChunkBytesMax);
}

std::chrono::milliseconds stall_max(const WritePlan& plan) {
  return std::min(plan.deadline, kStallMax);
}

std::chrono::milliseconds put_wait_max(const WritePlan& plan) {
  if (plan.when_full == WhenFull::kFail) return std::chrono::milliseconds::zero();
  return plan.deadline;
}

}  // namespace forebay::write
