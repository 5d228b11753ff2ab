// SPDX-License-Identifier: Apache-2.0
// Implements docs/guides/strategies.md, "How the default is chosen".
#include "write/plan_shape.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "write/plan_checks.hpp"
#include "write/plan_limits.hpp"

namespace forebay::write {

namespace {

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

struct Candidate {
  PlanShape shape;
  double durable_us = 0;
};

/// Strategies to compare.
std::vector<Strategy> candidate_strategies(const WritePlan& requested) {
  if (requested.strategy != Strategy::kAuto) return {requested.strategy};
  return {Strategy::kFilePerProcess, Strategy::kReducedBlocking};
}

/// The plans that are compared, with their cost. They share one plan, because a copy costs as much
/// as a formula.
class PlanSearch {
 public:
  PlanSearch(const WriteFacts& facts, const StepTotals& totals, const WritePlan& requested)
      : facts_(facts),
        totals_(totals),
        requested_(requested),
        plan_(requested),
        servers_(facts.server_count()) {}

  /// Adds the plans of a strategy with each number of writers and files.
  void add(Strategy strategy) {
    const std::uint32_t most = writers_limit(facts_, requested_);
    const bool is_serial = strategy == Strategy::kSerial;
    const bool fixed = is_serial || strategy == Strategy::kFilePerProcess;
    const bool all_write =
        is_every_rank_writing(strategy) || requested_.tuning.exchange == Exchange::kNone;
    const std::uint32_t only = is_serial ? 1 : most;
    const bool one_count = fixed || (all_write && requested_.writers == 0);
    for (const std::uint32_t writers : counts_to(one_count ? only : requested_.writers, most)) {
      for (const std::uint32_t files : counts_to(fixed ? only : requested_.files, writers)) {
        if (files <= writers) add_shape({strategy, fixed ? only : writers, files});
      }
    }
  }
  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  /// `given` if it is set. Else 1, 2, 3, 4, 6, 8, 12 … `most`, and the numbers of nodes and
  /// servers.
  std::vector<std::uint32_t> counts_to(std::uint32_t given, std::uint32_t most) const {
    if (given != 0) return {given};
    std::vector<std::uint32_t> counts{static_cast<std::uint32_t>(totals_.nodes), servers_};
    for (std::uint32_t count = 3; most <= 512 && count < most; count *= 2)
      counts.push_back(count);
    return counts_up_to(most, 2, std::move(counts));
  }
  void add_shape(const PlanShape& shape) {
    plan_.tuning = requested_.tuning;
    plan_.memory_bytes = requested_.memory_bytes;
    plan_.strategy = shape.strategy;
    plan_.writers = shape.writers;
    plan_.files = shape.files;
    if (!check_shape(facts_, plan_)) return;
    complete_shape(facts_, totals_, plan_);
    candidates_.push_back({shape, step_cost(*facts_.machine, totals_, plan_).durable_us()});
  }

  const WriteFacts& facts_;
  const StepTotals& totals_;
  const WritePlan& requested_;
  WritePlan plan_;
  const std::uint32_t servers_;
  std::vector<Candidate> candidates_;
};

constexpr double kTieTolerance = 1.02;

/// Order of preference among plans of equal cost. First a writer for each server, because no
/// machine file states what one agent and its link can transfer. Then plans without shared files,
/// for which real file systems charge more than machine files state. Then few files, then few
/// writers.
auto preference_of(std::uint32_t preferred_writers, const PlanShape& shape) {
  const std::uint32_t missing = preferred_writers - std::min(preferred_writers, shape.writers);
  return std::tuple{missing, shape.files < shape.writers, shape.files, shape.writers};
}

/// Returns the preferred plan among those whose cost is within kTieTolerance of the best.
const Candidate& choose_candidate(std::uint32_t preferred_writers,
                                  const std::vector<Candidate>& candidates) {
  const Candidate* chosen = &*std::ranges::min_element(candidates, {}, &Candidate::durable_us);
  const double limit_us = chosen->durable_us * kTieTolerance;
  for (const Candidate& one : candidates) {
    if (one.durable_us > limit_us) continue;
    if (preference_of(preferred_writers, one.shape) <
        preference_of(preferred_writers, chosen->shape))
      chosen = &one;
  }
  return *chosen;
}

PlanShape shape_by_cost(const WriteFacts& facts,
                        const StepTotals& totals,
                        const WritePlan& requested) {
  PlanSearch search(facts, totals, requested);
  for (const Strategy strategy : candidate_strategies(requested)) {
    const bool is_added = strategy == Strategy::kFilePerProcess && strategy != requested.strategy;
    const bool fits =
        requested.files == 0 || requested.files == facts.rank_layout.compute_rank_count();
    if (!is_added || fits) search.add(strategy);
  }
  if (search.candidates().empty()) return shape_by_rule(facts, requested);
  const std::uint32_t preferred = std::min(writers_limit(facts, requested), facts.server_count());
  const Candidate& chosen = choose_candidate(preferred, search.candidates());
  PlanShape shape = chosen.shape;
  shape.reason = "least cost of " + std::to_string(search.candidates().size()) + " plans on " +
                 facts.machine->name + ", " +
                 std::to_string(static_cast<std::uint64_t>(chosen.durable_us / 1000)) +
                 " ms a step";
  return shape;
}

}  // namespace

std::uint32_t writers_limit(const WriteFacts& facts, const WritePlan& plan) {
  const bool dedicated = plan.tuning.placement == Placement::kDedicated;
  return dedicated ? facts.rank_layout.io_rank_count() : facts.rank_layout.compute_rank_count();
}

bool is_every_rank_writing(Strategy strategy) {
  return strategy == Strategy::kFilePerProcess || strategy == Strategy::kBaton ||
         strategy == Strategy::kCollective;
}

std::vector<std::uint32_t> counts_up_to(std::uint32_t most,
                                        std::uint64_t factor,
                                        std::vector<std::uint32_t> counts) {
  counts.push_back(most);
  for (std::uint64_t power = 1; power < most; power *= factor)
    counts.push_back(static_cast<std::uint32_t>(power));
  for (std::uint32_t& count : counts)
    count = std::min(count, most);
  std::ranges::sort(counts);
  counts.erase(std::ranges::unique(counts).begin(), counts.end());
  return counts;
}

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

PlanShape choose_shape(const WriteFacts& facts,
                       const StepTotals& totals,
                       const WritePlan& requested) {
  const bool nothing_open =
      requested.strategy != Strategy::kAuto && requested.writers != 0 && requested.files != 0;
  const bool all_dedicated =
      requested.tuning.placement == Placement::kDedicated && requested.writers == 0;
  if (facts.machine == nullptr || nothing_open || all_dedicated)
    return shape_by_rule(facts, requested);
  return shape_by_cost(facts, totals, requested);
}

}  // namespace forebay::write
