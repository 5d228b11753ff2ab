// SPDX-License-Identifier: Apache-2.0
// The rules of docs/guides/strategies.md, "How the default is chosen".
#include "write/plan_shape.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "write/cost.hpp"
#include "write/plan_limits.hpp"
#include "write/played_step.hpp"

namespace forebay::write {

namespace {

std::uint32_t writers_most(const WriteFacts& facts, const WritePlan& wanted) {
  const bool dedicated = wanted.placement == Placement::kDedicated;
  return dedicated ? facts.crew.dedicated() : facts.crew.computing();
}

bool all_write(Strategy strategy) {
  return strategy == Strategy::kFilePerProcess || strategy == Strategy::kBaton ||
         strategy == Strategy::kCollective;
}

/// As many as there are nodes, or servers, as far as there are ranks.
std::uint32_t busy_count(const WriteFacts& facts, const WritePlan& wanted) {
  if (wanted.placement == Placement::kDedicated) return facts.crew.dedicated();
  const bool one_server = facts.storage == StorageKind::kNetwork;
  const std::uint32_t servers = one_server ? 1 : facts.server_count();
  return std::min(facts.crew.computing(), std::max(facts.crew.node_count(), servers));
}

std::string count_of(std::uint32_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

struct Rule {
  Strategy strategy;
  std::string reason;
};

/// The strategy where nothing is wanted and no machine is known.
Rule rule_of(const WriteFacts& facts) {
  const std::uint32_t ranks = facts.crew.computing();
  const std::uint32_t nodes = facts.crew.node_count();
  const std::string on = count_of(ranks, "rank") + " on " + count_of(nodes, "node");
  if (ranks == 1) return {Strategy::kFilePerProcess, "one rank"};
  switch (facts.storage) {
    case StorageKind::kMemory:
    case StorageKind::kLocal: {
      const bool few = ranks <= std::uint64_t{kRanksWithFilesMax} * nodes;
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
  return {
      ranks <= kRanksWithFilesMax ? Strategy::kFilePerProcess : Strategy::kReducedBlocking,
      (parallel ? "a parallel file system and " : "storage of which nothing is known and ") + on};
}

Shape shape_by_rule(const WriteFacts& facts, const WritePlan& wanted) {
  Shape shape{.strategy = wanted.strategy, .reason = "as given"};
  if (shape.strategy == Strategy::kAuto) {
    const Rule rule = rule_of(facts);
    shape.strategy = rule.strategy;
    shape.reason = rule.reason;
    const bool has_room = wanted.files == 0 || wanted.files == facts.crew.computing();
    if (!has_room) shape.strategy = Strategy::kReducedBlocking;
  }
  const std::uint32_t most = writers_most(facts, wanted);
  const std::uint32_t busy = busy_count(facts, wanted);
  const bool all = all_write(shape.strategy) || wanted.hand_off == HandOff::kNone;
  shape.writers = wanted.writers;
  if (shape.strategy == Strategy::kSerial) shape.writers = 1;
  if (shape.writers == 0) shape.writers = all ? most : std::max(busy, wanted.files);
  shape.files = wanted.files;
  const bool each = shape.strategy == Strategy::kFilePerProcess || !all_write(shape.strategy);
  if (shape.files == 0) shape.files = each ? shape.writers : std::min(busy, shape.writers);
  return shape;
}

/// 1, 2, 3, 4, 6, 8, 12 … most, and what is natural for this job.
std::vector<std::uint32_t> counts_to_try(const WriteFacts& facts,
                                         std::uint32_t given,
                                         std::uint32_t most) {
  if (given != 0) return {given};
  std::vector<std::uint32_t> counts{most, std::min(most, facts.crew.node_count()),
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

/// Strategies that are compared.
std::vector<Strategy> strategies_to_try(const WritePlan& wanted) {
  if (wanted.strategy != Strategy::kAuto) return {wanted.strategy};
  return {Strategy::kFilePerProcess, Strategy::kReducedBlocking};
}

/// What of `wanted` leaves open is filled in as the plan will be.
std::optional<Candidate> candidate_of(const WriteFacts& facts, WritePlan plan) {
  plan.checksum_by = ChecksumBy::kCopy;  // of no matter for the shape, and chosen by a cost itself
  const Result<WritePlan> whole = plan_write(facts, plan);
  if (!whole) return std::nullopt;
  const StepCost cost = step_cost(facts, *whole);
  return Candidate{*whole, cost, cost.durable_us()};
}

void add_candidates(const WriteFacts& facts,
                    const WritePlan& wanted,
                    std::vector<Candidate>& candidates) {
  const bool fixed =
      wanted.strategy == Strategy::kSerial || wanted.strategy == Strategy::kFilePerProcess;
  const bool all = all_write(wanted.strategy) || wanted.hand_off == HandOff::kNone;
  const std::uint32_t most = writers_most(facts, wanted);
  const std::uint32_t only = wanted.strategy == Strategy::kSerial ? 1 : most;
  for (const std::uint32_t writers :
       counts_to_try(facts, fixed || (all && wanted.writers == 0) ? only : wanted.writers, most)) {
    for (const std::uint32_t files : counts_to_try(facts, fixed ? only : wanted.files, writers)) {
      if (files > writers) continue;
      WritePlan plan = wanted;
      plan.writers = fixed ? only : writers;
      plan.files = files;
      if (const auto candidate = candidate_of(facts, plan)) candidates.push_back(*candidate);
    }
  }
}

constexpr double kAsGood = 1.02;
// Formulas are off by less than this, mostly; who is further from the best one is not played.
constexpr double kMaybeBest = 1.7;
// What is played takes a few milliseconds in all, once for a dataset.
constexpr std::size_t kPlayedMost = 12;
constexpr double kPartsPlayedMost = 1024;

/// What is liked of plans that are as good: first a writer for each server, since what one agent
/// and its link can move is not in a machine file; then none that shares a file, which real file
/// systems charge more for than machine files say; then few files, and few writers.
auto liking_of(const WriteFacts& facts, const WritePlan& plan) {
  const bool dedicated = plan.placement == Placement::kDedicated;
  const std::uint32_t most = dedicated ? facts.crew.dedicated() : facts.crew.computing();
  const std::uint32_t liked = std::min(most, facts.server_count());
  const std::uint32_t missing = liked - std::min(liked, plan.writers);
  return std::tuple{missing, plan.files < plan.writers, plan.files, plan.writers};
}

/// Parts of requests of a step.
double parts_of(const WriteFacts& facts) {
  double bytes = 0;
  for (Rank rank = 0; rank < facts.crew.computing(); ++rank)
    bytes += static_cast<double>(facts.bytes_of(rank));
  const model::Machine& machine = *facts.machine;
  const auto part = std::min(machine.layout.stripe_bytes, machine.client.request_bytes_max);
  return bytes / static_cast<double>(part) + facts.crew.computing();
}

/// Those that may be the best by the formula are played, where that is quick: small steps are those
/// that formulas know least about. Others of them are dropped then.
void play(const WriteFacts& facts, std::vector<Candidate>& candidates) {
  if (parts_of(facts) > kPartsPlayedMost) return;
  std::ranges::sort(candidates, {}, [&facts](const Candidate& one) {
    return std::tuple{one.durable_us, liking_of(facts, one.plan)};
  });
  const double limit_us = candidates.front().durable_us * kMaybeBest;
  const auto far = [limit_us](const Candidate& one) { return one.durable_us > limit_us; };
  candidates.erase(std::ranges::find_if(candidates, far), candidates.end());
  if (candidates.size() > kPlayedMost) candidates.resize(kPlayedMost);
  for (Candidate& one : candidates) {
    const model::Time time = played_step_time(facts, one.plan);
    one.cost.storage_us = std::chrono::duration<double, std::micro>(time).count();
    one.durable_us = one.cost.durable_us();
  }
}

/// Of those that are as good as the best one, what is liked most.
const Candidate& choose(const WriteFacts& facts, const std::vector<Candidate>& candidates) {
  const Candidate* chosen = &*std::ranges::min_element(candidates, {}, &Candidate::durable_us);
  const double limit_us = chosen->durable_us * kAsGood;
  for (const Candidate& one : candidates) {
    if (one.durable_us > limit_us) continue;
    if (liking_of(facts, one.plan) < liking_of(facts, chosen->plan)) chosen = &one;
  }
  return *chosen;
}

Shape shape_by_cost(const WriteFacts& known, const WritePlan& wanted) {
  WriteFacts facts = known;
  if (facts.step_bytes.empty()) facts.step_bytes = {kAssumedStepBytes};
  std::vector<Candidate> candidates;
  for (const Strategy strategy : strategies_to_try(wanted)) {
    WritePlan plan = wanted;
    plan.strategy = strategy;
    if (strategy == Strategy::kFilePerProcess && strategy != wanted.strategy) {
      const bool fits = wanted.files == 0 || wanted.files == facts.crew.computing();
      if (!fits) continue;
    }
    add_candidates(facts, plan, candidates);
  }
  if (candidates.empty()) return shape_by_rule(known, wanted);
  const std::size_t tried = candidates.size();
  play(facts, candidates);
  const Candidate& chosen = choose(facts, candidates);
  return {chosen.plan.strategy, chosen.plan.writers, chosen.plan.files,
          "least cost of " + std::to_string(tried) + " plans on " + facts.machine->name + ", " +
              std::to_string(static_cast<std::uint64_t>(chosen.durable_us / 1000)) + " ms a step"};
}

}  // namespace

Strategy implied_strategy(const WriteFacts& facts, const WritePlan& wanted) {
  if (wanted.strategy != Strategy::kAuto) return wanted.strategy;
  if (wanted.schedule == Schedule::kBaton) return Strategy::kBaton;
  if (wanted.schedule == Schedule::kCollective) return Strategy::kCollective;
  if (wanted.hand_off == HandOff::kBrigade) return Strategy::kBrigade;
  if (wanted.hand_off == HandOff::kGather) return Strategy::kGather;
  const std::uint32_t ranks = facts.crew.computing();
  const bool each_file = wanted.files == 0 || wanted.files == ranks;
  const bool each_rank =
      wanted.writers == ranks || (wanted.writers == 0 && wanted.hand_off == HandOff::kNone);
  const bool in_rank = wanted.placement != Placement::kDedicated;
  if (in_rank && each_file && each_rank) return Strategy::kFilePerProcess;
  const bool hands_over = wanted.hand_off.has_value() || wanted.writers != 0 || !in_rank;
  return hands_over ? Strategy::kReducedBlocking : Strategy::kAuto;
}

Shape choose_shape(const WriteFacts& facts, const WritePlan& wanted) {
  const bool nothing_open =
      wanted.strategy != Strategy::kAuto && wanted.writers != 0 && wanted.files != 0;
  const bool all_dedicated = wanted.placement == Placement::kDedicated && wanted.writers == 0;
  if (facts.machine == nullptr || nothing_open || all_dedicated)
    return shape_by_rule(facts, wanted);
  return shape_by_cost(facts, wanted);
}

}  // namespace forebay::write
