// SPDX-License-Identifier: Apache-2.0
#include "tools/study/checkpoint.hpp"

#include <algorithm>
#include <utility>

namespace forebay::study {

namespace {

/// The job on a machine, with as many clients as the study has nodes.
struct SweepJob {
  model::Machine machine;
  write::WriteFacts facts;
};

std::uint32_t nodes_of(const Checkpoint& checkpoint, const model::Machine& machine) {
  const std::uint32_t requested = checkpoint.nodes == 0 ? machine.client.count : checkpoint.nodes;
  return std::min(requested, checkpoint.ranks);
}

SweepJob job_of(const Checkpoint& checkpoint, const model::Machine& machine) {
  SweepJob job{.machine = machine, .facts = {}};
  const std::uint32_t nodes = nodes_of(checkpoint, machine);
  job.machine.client.count = nodes;
  for (std::uint64_t rank = 0; rank < checkpoint.ranks; ++rank)
    job.facts.rank_layout.node_of_compute_rank.push_back(
        static_cast<std::uint32_t>(rank * nodes / checkpoint.ranks));
  job.facts.step_bytes = block_sizes(checkpoint.sizes, checkpoint.ranks, checkpoint.step_bytes());
  return job;
}

/// 1, 2, 4 … below `max_count`, and `max_count`.
std::vector<std::uint32_t> powers_of_two(std::uint32_t max_count) {
  std::vector<std::uint32_t> counts;
  for (std::uint64_t count = 1; count < max_count; count *= 2)
    counts.push_back(static_cast<std::uint32_t>(count));
  counts.push_back(max_count);
  return counts;
}

using Shape = std::pair<std::uint32_t, std::uint32_t>;

/// Numbers of writers and files to try for a strategy.
std::vector<Shape> shapes_of(Strategy strategy, std::uint32_t ranks) {
  if (strategy == Strategy::kSerial) return {{1, 1}};
  if (strategy == Strategy::kFilePerProcess) return {{ranks, ranks}};
  std::vector<Shape> shapes;
  if (strategy == Strategy::kCollective) {
    for (const std::uint32_t files : powers_of_two(ranks))
      shapes.emplace_back(ranks, files);
    return shapes;
  }
  for (const std::uint32_t writers : powers_of_two(ranks)) {
    for (const std::uint32_t files : powers_of_two(writers))
      shapes.emplace_back(writers, files);
  }
  return shapes;
}

Result<std::vector<WritePlan>> plans_for(const write::WriteFacts& facts,
                                         const std::vector<Strategy>& strategies) {
  std::vector<WritePlan> plans;
  for (const Strategy strategy : strategies) {
    for (const auto& [writers, files] :
         shapes_of(strategy, facts.rank_layout.compute_rank_count())) {
      auto plan = plan_write(facts, {.strategy = strategy, .writers = writers, .files = files});
      if (!plan) return failure(plan.error());
      plans.push_back(std::move(*plan));
    }
  }
  return plans;
}

/// The unit of one lock, if an alignment can separate writers; else a stripe.
std::uint64_t lock_bytes(const model::Machine& machine) {
  const bool has_size = machine.locks.unit == model::LockUnit::kBytes;
  return has_size ? machine.locks.unit_bytes : machine.layout.stripe_bytes;
}

Result<WritePlan> shared_plan(const write::WriteFacts& facts) {
  WritePlan requested{.strategy = Strategy::kReducedBlocking,
                      .writers = facts.rank_layout.compute_rank_count(),
                      .files = 1};
  const auto usual = plan_write(facts, requested);
  if (!usual) return usual;
  requested.tuning.alignment_bytes = lock_bytes(*facts.machine);
  requested.tuning.unit_bytes =
      std::max(usual->tuning.unit_bytes, requested.tuning.alignment_bytes);
  return plan_write(facts, requested);
}

}  // namespace

Result<std::vector<WritePlan>> plans_of(const Checkpoint& checkpoint,
                                        const model::Machine& machine) {
  SweepJob job = job_of(checkpoint, machine);
  job.facts.machine = &job.machine;
  return plans_for(job.facts, checkpoint.strategies);
}

Result<Sweep> sweep(const Checkpoint& checkpoint,
                    const model::Machine& machine,
                    const std::function<bool(std::size_t)>& on_plan) {
  SweepJob job = job_of(checkpoint, machine);
  job.facts.machine = &job.machine;
  const auto plans = plans_for(job.facts, checkpoint.strategies);
  if (!plans) return failure(plans.error());
  const auto shared = shared_plan(job.facts);
  if (!shared) return failure(shared.error());
  Sweep result{.nodes = nodes_of(checkpoint, machine), .cells = {}, .shared = {}};
  for (const WritePlan& plan : *plans) {
    result.cells.push_back({plan, simulate_step(job.facts, plan)});
    if (!on_plan(result.cells.size()))
      return failure({.kind = ErrorClass::kCancelled, .operation = "simulate a checkpoint"});
  }
  result.shared = {*shared, simulate_step(job.facts, *shared)};
  return result;
}

}  // namespace forebay::study
