// SPDX-License-Identifier: Apache-2.0
#include "tools/study/checkpoint.hpp"

#include <algorithm>
#include <utility>

namespace forebay::study {

namespace {

/// What is known of a job on a machine, with as many clients as the study has nodes.
struct Job {
  model::Machine machine;
  write::WriteFacts facts;
};

std::uint32_t nodes_of(const Checkpoint& checkpoint, const model::Machine& machine) {
  const std::uint32_t wanted = checkpoint.nodes == 0 ? machine.client.count : checkpoint.nodes;
  return std::min(wanted, checkpoint.ranks);
}

Job job_of(const Checkpoint& checkpoint, const model::Machine& machine) {
  Job job{.machine = machine, .facts = {}};
  const std::uint32_t nodes = nodes_of(checkpoint, machine);
  job.machine.client.count = nodes;
  for (std::uint64_t rank = 0; rank < checkpoint.ranks; ++rank)
    job.facts.crew.node_of_computing.push_back(
        static_cast<std::uint32_t>(rank * nodes / checkpoint.ranks));
  job.facts.step_bytes =
      bench::checkpoint::block_sizes(checkpoint.sizes, checkpoint.ranks, checkpoint.step_bytes());
  return job;
}

/// 1, 2, 4 … most, and most.
std::vector<std::uint32_t> powers_of_two(std::uint32_t most) {
  std::vector<std::uint32_t> counts;
  for (std::uint64_t count = 1; count < most; count *= 2)
    counts.push_back(static_cast<std::uint32_t>(count));
  counts.push_back(most);
  return counts;
}

using Shape = std::pair<std::uint32_t, std::uint32_t>;

/// Writers and files that a strategy leaves open.
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
    for (const auto& [writers, files] : shapes_of(strategy, facts.crew.computing())) {
      auto plan = plan_write(facts, {.strategy = strategy, .writers = writers, .files = files});
      if (!plan) return failure(plan.error());
      plans.push_back(std::move(*plan));
    }
  }
  return plans;
}

/// What one lock covers where an alignment can keep writers apart; else a stripe.
std::uint64_t lock_bytes(const model::Machine& machine) {
  const bool has_size = machine.locks.unit == model::LockUnit::kBytes;
  return has_size ? machine.locks.unit_bytes : machine.layout.stripe_bytes;
}

Result<WritePlan> shared_plan(const write::WriteFacts& facts) {
  WritePlan wanted{
      .strategy = Strategy::kReducedBlocking, .writers = facts.crew.computing(), .files = 1};
  const auto usual = plan_write(facts, wanted);
  if (!usual) return usual;
  wanted.alignment_bytes = lock_bytes(*facts.machine);
  wanted.unit_bytes = std::max(usual->unit_bytes, wanted.alignment_bytes);
  return plan_write(facts, wanted);
}

}  // namespace

Result<std::vector<WritePlan>> plans_of(const Checkpoint& checkpoint,
                                        const model::Machine& machine) {
  Job job = job_of(checkpoint, machine);
  job.facts.machine = &job.machine;
  return plans_for(job.facts, checkpoint.strategies);
}

Result<Sweep> sweep(const Checkpoint& checkpoint,
                    const model::Machine& machine,
                    const std::function<void(std::size_t)>& done) {
  Job job = job_of(checkpoint, machine);
  job.facts.machine = &job.machine;
  const auto plans = plans_for(job.facts, checkpoint.strategies);
  if (!plans) return failure(plans.error());
  const auto shared = shared_plan(job.facts);
  if (!shared) return failure(shared.error());
  Sweep result{.nodes = nodes_of(checkpoint, machine), .cells = {}, .shared = {}};
  for (const WritePlan& plan : *plans) {
    result.cells.push_back({plan, played_step(job.facts, plan)});
    done(result.cells.size());
  }
  result.shared = {*shared, played_step(job.facts, *shared)};
  return result;
}

}  // namespace forebay::study
