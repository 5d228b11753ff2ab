// SPDX-License-Identifier: Apache-2.0
#include "tools/study/steps.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "model/machine.hpp"
#include "tools/kernel/kernel_plan.hpp"
#include "tools/kernel/step_bytes.hpp"
#include "tools/study/document.hpp"
#include "write/simulated_step.hpp"

namespace forebay::study {

namespace {

using nlohmann::json;
using Steps = kernel::StepBytes;

constexpr Strategy kStrategies[] = {Strategy::kGather, Strategy::kBrigade};

Error failed(const std::string& kernel, const std::string& cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "simulate the kernel",
                .path = kernel,
                .cause = cause});
}

write::WriteFacts facts_of(const model::Machine& machine, std::uint32_t ranks) {
  write::WriteFacts facts;
  facts.machine = &machine;
  const std::uint32_t nodes = std::min(machine.client.count, ranks);
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    facts.rank_layout.node_of_compute_rank.push_back(
        static_cast<std::uint32_t>(rank * nodes / ranks));
  return facts;
}

/// Aggregators of equal groups.
std::vector<std::uint32_t> aggregator_counts(std::uint32_t ranks) {
  std::vector<std::uint32_t> counts;
  for (std::uint32_t count = 1; count < ranks; count *= 2)
    counts.push_back(count);
  counts.push_back(ranks);
  return counts;
}

/// The law of ADIOS 1.13: docs/guides/study.md#memory.
std::uint64_t peer_memory(const Steps& steps, Strategy strategy, std::uint32_t aggregators) {
  std::uint64_t largest = 0;
  for (const auto& step : steps) {
    const std::size_t group = (step.size() + aggregators - 1) / aggregators;
    for (std::size_t begin = 0; begin < step.size(); begin += group) {
      const auto first = step.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = first + static_cast<std::ptrdiff_t>(std::min(group, step.size() - begin));
      const std::uint64_t bytes = strategy == Strategy::kGather
                                      ? std::accumulate(first, last, std::uint64_t{0})
                                      : 2 * *std::max_element(first, last);
      largest = std::max(largest, bytes);
    }
  }
  return largest;
}

/// Creation and opening cost nothing within a step if they are done before.
model::Machine machine_for(model::Machine machine, CreateMode mode) {
  if (mode == CreateMode::kAhead) machine.metadata.create_us = machine.metadata.open_us = 0;
  return machine;
}

double in_seconds(model::Time time) { return std::chrono::duration<double>(time).count(); }

struct Aggregation {
  Strategy strategy;
  std::uint32_t aggregators;
  std::uint32_t targets;
};

Result<json> simulate(const Aggregation& cell, const Steps& steps, write::WriteFacts facts) {
  json opened = json::array();
  json durable = json::array();
  std::uint64_t memory_bytes = 0;
  for (const auto& step : steps) {
    facts.step_bytes = step;
    WritePlan requested{
        .strategy = cell.strategy, .writers = cell.aggregators, .files = cell.aggregators};
    requested.tuning.stripe_count = cell.targets;
    const auto plan = plan_write(facts, requested);
    if (!plan) return failure(plan.error());
    const write::SimulatedStep simulated = simulate_step(facts, *plan);
    opened.push_back(in_seconds(simulated.files_opened));
    durable.push_back(in_seconds(simulated.durable));
    memory_bytes = std::max(memory_bytes, plan->memory_bytes);
  }
  return json{{"strategy", name_of(cell.strategy)},
              {"aggregators", cell.aggregators},
              {"targets", cell.targets},
              {"opened_s", std::move(opened)},
              {"durable_s", std::move(durable)},
              {"memory_bytes", memory_bytes},
              {"peer_memory_bytes", peer_memory(steps, cell.strategy, cell.aggregators)}};
}

std::vector<Aggregation> cells_of(const StepsRequest& request, std::uint32_t ranks) {
  std::vector<Aggregation> cells;
  for (const Strategy strategy : kStrategies)
    for (const std::uint32_t aggregators : aggregator_counts(ranks))
      for (const std::uint32_t targets : request.targets)
        cells.push_back({strategy, aggregators, targets});
  return cells;
}

}  // namespace

Result<json> describe_steps(const StepsRequest& request,
                            const std::vector<std::filesystem::path>& directories) {
  const auto plan = kernel::KernelPlan::parse(request.kernel);
  if (!plan) return failure(plan.error());
  const auto loaded = model::load_machine(request.machine, directories);
  if (!loaded) return failure(loaded.error());
  if (plan->kernel().writers > kRanksMax)
    return failure(
        failed(plan->kernel().name, "at most 1024 ranks are simulated; take fewer --ranks"));
  const auto steps = kernel::step_bytes(plan->kernel());
  if (!steps) return failure(steps.error());
  const model::Machine machine = machine_for(*loaded, request.create_mode);
  const write::WriteFacts facts = facts_of(machine, plan->kernel().writers);
  json cells = json::array();
  const auto all = cells_of(request, plan->kernel().writers);
  for (const Aggregation& cell : all) {
    auto simulated = simulate(cell, *steps, facts);
    if (!simulated) return failure(simulated.error());
    (*simulated)["create_ahead"] = request.create_mode == CreateMode::kAhead;
    cells.push_back(std::move(*simulated));
    const auto reported = report(
        request.progress, {cells.size(), all.size(), "plans", machine.name}, "simulate a kernel");
    if (!reported) return failure(reported.error());
  }
  return json{{"machine", machine.name},
              {"ranks", plan->kernel().writers},
              {"bytes", *steps},
              {"cells", std::move(cells)}};
}

}  // namespace forebay::study
