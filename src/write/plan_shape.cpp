// SPDX-License-Identifier: Apache-2.0
// Implements docs/guides/strategies.md, "How the default is chosen".
#include "write/plan_shape.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "write/cost.hpp"
#include "write/plan_limits.hpp"
#include "write/simulated_step.hpp"

namespace forebay::write {

namespace {

std::uint32_t writers_limit(const WriteFacts& facts, const WritePlan& requested) {
  const bool dedicated = requested.tuning.placement == Placement::kDedicated;
  return dedicated ? facts.rank_layout.io_rank_count() : facts.rank_layout.compute_rank_count();
}

bool is_every_rank_writing(Strategy strategy) {
  return strategy == Strategy::kFilePerProcess || strategy == Strategy::kBaton ||
         strategy == Strategy::kCollective;
}

/// All I/O ranks if they write. Else the larger of the numbers of nodes and servers (of a network
/// file system: one server), at most all ranks.
std::uint32_t default_writer_count(const WriteFacts& facts, const WritePlan& requested) {
  if (requested.tuning.placement == Placement::kDedicated) return facts.rank_layout.io_rank_count();
  const bool one_server = facts.storage == StorageKind::kNetwork;
  const std::uint32_t servers = one_server ? 1 : facts.server_count();
  return std::min(facts.rank_layout.compute_rank_count(),
                  std::max(facts.rank_layout.node_count(), servers));
}

std::string format_count(std::uint32_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

struct Rule {
  Strategy strategy;
  std::string reason;
};

/// The strategy if the plan sets nothing and no machine is known.
Rule rule_of(const WriteFacts& facts) {
  const std::uint32_t ranks = facts.rank_layout.compute_rank_count();
  const std::uint32_t nodes = facts.rank_layout.node_count();
  const std::string on = format_count(ranks, "rank") + " on " + format_count(nodes, "node");
  if (ranks == 1) return {Strategy::kFilePerProcess, "one rank"};
  switch (facts.storage) {
    case StorageKind::kMemory:
    case StorageKind::kLocal: {
      const bool few = ranks <= std::uint64_t{kFilePerProcessRanksMax} * nodes;
      return {few ? Strategy::kFilePerProcess : Strategy::kReducedBlocking,
              "a local file system and " + on};
    }
    case StorageKind::kNetwork:
      return {Strategy::kReducedBlocking, "a network file system and " + on};
    case StorageKind::kUnknown:
    case StorageKind::kParallel:
      break;
  }
  const bool parallel = facts.storage == StorageKind::kParallel;
  return {ranks <= kFilePerProcessRanksMax ? Strategy::kFilePerProcess : Strategy::kReducedBlocking,
          (parallel ? "a parallel file system and " : "unknown storage and ") + on};
}

PlanShape shape_by_rule(const WriteFacts& facts, const WritePlan& requested) {
  PlanShape shape{.strategy = requested.strategy, .reason = "as given"};
  if (shape.strategy == Strategy::kAuto) {
    const Rule rule = rule_of(facts);
    shape.strategy = rule.strategy;
    shape.reason = rule.reason;
    const bool has_room =
        requested.files == 0 || requested.files == facts.rank_layout.compute_rank_count();
    if (!has_room) shape.strategy = Strategy::kReducedBlocking;
  }
  const std::uint32_t most = writers_limit(facts, requested);
  const std::uint32_t default_writers = default_writer_count(facts, requested);
  const bool all_write =
      is_every_rank_writing(shape.strategy) || requested.tuning.exchange == Exchange::kNone;
  shape.writers = requested.writers;
  if (shape.strategy == Strategy::kSerial) shape.writers = 1;
  if (shape.writers == 0)
    shape.writers = all_write ? most : std::max(default_writers, requested.files);
  shape.files = requested.files;
  const bool has_file_per_writer =
      shape.strategy == Strategy::kFilePerProcess || !is_every_rank_writing(shape.strategy);
  if (shape.files == 0)
    shape.files = has_file_per_writer ? shape.writers : std::min(default_writers, shape.writers);
  return shape;
}

/// Numbers to compare: `given` if it is set. Else 1, 2, 3, 4, 6, 8, 12 … `most`, and the numbers of
/// nodes and servers.
std::vector<std::uint32_t> candidate_counts(const WriteFacts& facts,
                                            std::uint32_t given,
                                            std::uint32_t most) {
  if (given != 0) return {given};
  std::vector<std::uint32_t> counts{most, std::min(most, facts.rank_layout.node_count()),
                                    std::min(most, facts.server_count())};
  for (std::uint64_t count = 1; count <= most; count *= 2) {
    counts.push_back(static_cast<std::uint32_t>(count));
    if (most <= 512 && count % 2 == 0 && count / 2 * 3 <= most)
      counts.push_back(static_cast<std::uint32_t>(count / 2 * 3));
  }
  std::ranges::sort(counts);
  counts.erase(std::ranges::unique(counts).begin(), counts.end());
  return counts;
}

struct Candidate {
  WritePlan plan;
  StepCost cost;
  double durable_us = 0;
};

/// Strategies to compare.
std::vector<Strategy> candidate_strategies(const WritePlan& requested) {
  if (requested.strategy != Strategy::kAuto) return {requested.strategy};
  return {Strategy::kFilePerProcess, Strategy::kReducedBlocking};
}

/// Completes a plan as plan_write() will.
std::optional<Candidate> candidate_of(const WriteFacts& facts, WritePlan plan) {
  // Has no effect on the shape. An automatic choice would compute another cost.
  plan.tuning.checksum_stage = ChecksumStage::kCopy;
  const Result<WritePlan> whole = plan_write(facts, plan);
  if (!whole) return std::nullopt;
  const StepCost cost = step_cost(facts, *whole);
  return Candidate{*whole, cost, cost.durable_us()};
}

void add_candidates(const WriteFacts& facts,
                    const WritePlan& requested,
                    std::vector<Candidate>& candidates) {
  const bool fixed =
      requested.strategy == Strategy::kSerial || requested.strategy == Strategy::kFilePerProcess;
  const bool all_write =
      is_every_rank_writing(requested.strategy) || requested.tuning.exchange == Exchange::kNone;
  const std::uint32_t most = writers_limit(facts, requested);
  const std::uint32_t only = requested.strategy == Strategy::kSerial ? 1 : most;
  for (const std::uint32_t writers : candidate_counts(
           facts, fixed || (all_write && requested.writers == 0) ? only : requested.writers,
           most)) {
    for (const std::uint32_t files :
         candidate_counts(facts, fixed ? only : requested.files, writers)) {
      if (files > writers) continue;
      WritePlan plan = requested;
      plan.writers = fixed ? only : writers;
      plan.files = files;
      if (const auto candidate = candidate_of(facts, plan)) candidates.push_back(*candidate);
    }
  }
}

constexpr double kTieTolerance = 1.02;
// Formulas are mostly off by less than this; plans further from the best one are not simulated.
constexpr double kSimulationCutoff = 1.7;
// Simulations take a few milliseconds in all, once for a dataset.
constexpr std::size_t kSimulationsMax = 12;
constexpr double kSimulatedRpcsMax = 1024;

/// Order of preference among plans of equal cost. First a writer for each server, because no
/// machine file states what one agent and its link can transfer. Then plans without shared files,
/// for which real file systems charge more than machine files state. Then few files, then few
/// writers.
auto preference_of(const WriteFacts& facts, const WritePlan& plan) {
  const bool dedicated = plan.tuning.placement == Placement::kDedicated;
  const std::uint32_t most =
      dedicated ? facts.rank_layout.io_rank_count() : facts.rank_layout.compute_rank_count();
  const std::uint32_t preferred = std::min(most, facts.server_count());
  const std::uint32_t missing = preferred - std::min(preferred, plan.writers);
  return std::tuple{missing, plan.files < plan.writers, plan.files, plan.writers};
}

/// Number of request fragments (RPCs) into which stripes and the client's request size split the
/// writes of a step.
double rpc_count(const WriteFacts& facts) {
  double bytes = 0;
  for (RankNumber rank = 0; rank < facts.rank_layout.compute_rank_count(); ++rank)
    bytes += static_cast<double>(facts.bytes_of(rank));
  const model::Machine& machine = *facts.machine;
  const auto rpc_bytes = std::min(machine.layout.stripe_bytes, machine.client.request_bytes_max);
  return bytes / static_cast<double>(rpc_bytes) + facts.rank_layout.compute_rank_count();
}

/// For small steps, for which formulas are least accurate: simulates the plans whose formula cost
/// is near the best, and drops the others. Does nothing for large steps, which take long to
/// simulate.
void simulate_candidates(const WriteFacts& facts, std::vector<Candidate>& candidates) {
  if (rpc_count(facts) > kSimulatedRpcsMax) return;
  std::ranges::sort(candidates, {}, [&facts](const Candidate& one) {
    return std::tuple{one.durable_us, preference_of(facts, one.plan)};
  });
  const double limit_us = candidates.front().durable_us * kSimulationCutoff;
  const auto far = [limit_us](const Candidate& one) { return one.durable_us > limit_us; };
  candidates.erase(std::ranges::find_if(candidates, far), candidates.end());
  if (candidates.size() > kSimulationsMax) candidates.resize(kSimulationsMax);
  for (Candidate& one : candidates) {
    const model::Time time = simulate_write_time(facts, one.plan);
    one.cost.storage_us = std::chrono::duration<double, std::micro>(time).count();
    one.durable_us = one.cost.durable_us();
  }
}

/// Returns the preferred plan among those whose cost is within kTieTolerance of the best.
const Candidate& choose_candidate(const WriteFacts& facts,
                                  const std::vector<Candidate>& candidates) {
  const Candidate* chosen = &*std::ranges::min_element(candidates, {}, &Candidate::durable_us);
  const double limit_us = chosen->durable_us * kTieTolerance;
  for (const Candidate& one : candidates) {
    if (one.durable_us > limit_us) continue;
    if (preference_of(facts, one.plan) < preference_of(facts, chosen->plan)) chosen = &one;
  }
  return *chosen;
}

PlanShape shape_by_cost(const WriteFacts& known, const WritePlan& requested) {
  WriteFacts facts = known;
  if (facts.step_bytes.empty()) facts.step_bytes = {kAssumedStepBytes};
  std::vector<Candidate> candidates;
  for (const Strategy strategy : candidate_strategies(requested)) {
    WritePlan plan = requested;
    plan.strategy = strategy;
    if (strategy == Strategy::kFilePerProcess && strategy != requested.strategy) {
      const bool fits =
          requested.files == 0 || requested.files == facts.rank_layout.compute_rank_count();
      if (!fits) continue;
    }
    add_candidates(facts, plan, candidates);
  }
  if (candidates.empty()) return shape_by_rule(known, requested);
  const std::size_t tried = candidates.size();
  simulate_candidates(facts, candidates);
  const Candidate& chosen = choose_candidate(facts, candidates);
  return {chosen.plan.strategy, chosen.plan.writers, chosen.plan.files,
          "least cost of " + std::to_string(tried) + " plans on " + facts.machine->name + ", " +
              std::to_string(static_cast<std::uint64_t>(chosen.durable_us / 1000)) + " ms a step"};
}

}  // namespace

Strategy implied_strategy(const WriteFacts& facts, const WritePlan& requested) {
  if (requested.strategy != Strategy::kAuto) return requested.strategy;
  if (requested.tuning.transfer_mode == TransferMode::kBaton) return Strategy::kBaton;
  if (requested.tuning.transfer_mode == TransferMode::kCollective) return Strategy::kCollective;
  if (requested.tuning.exchange == Exchange::kBrigade) return Strategy::kBrigade;
  if (requested.tuning.exchange == Exchange::kGather) return Strategy::kGather;
  const std::uint32_t ranks = facts.rank_layout.compute_rank_count();
  const bool each_file = requested.files == 0 || requested.files == ranks;
  const bool each_rank = requested.writers == ranks ||
                         (requested.writers == 0 && requested.tuning.exchange == Exchange::kNone);
  const bool in_rank = requested.tuning.placement != Placement::kDedicated;
  if (in_rank && each_file && each_rank) return Strategy::kFilePerProcess;
  const bool has_aggregators =
      requested.tuning.exchange.has_value() || requested.writers != 0 || !in_rank;
  return has_aggregators ? Strategy::kReducedBlocking : Strategy::kAuto;
}

PlanShape choose_shape(const WriteFacts& facts, const WritePlan& requested) {
  const bool nothing_open =
      requested.strategy != Strategy::kAuto && requested.writers != 0 && requested.files != 0;
  const bool all_dedicated =
      requested.tuning.placement == Placement::kDedicated && requested.writers == 0;
  if (facts.machine == nullptr || nothing_open || all_dedicated)
    return shape_by_rule(facts, requested);
  return shape_by_cost(facts, requested);
}

}  // namespace forebay::write
