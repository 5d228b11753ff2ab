// SPDX-License-Identifier: Apache-2.0
#include "runtime/read_candidates.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace forebay {

namespace {

/// Of the default values.
constexpr std::array kMultiples{1.0, 4.0, 0.25};
/// Stripes of a file for each node whose agent reads.
constexpr std::uint64_t kStripesPerNode = 4;

/// Agents that read.
struct AgentChoice {
  std::optional<AgentScope> scope = std::nullopt;  ///< as ReadCandidate::agent_scope
  std::uint32_t node_count = 0;                    ///< as ReadCandidate::agent_node_count
};

/// The first one is the default.
std::vector<AgentChoice> agent_choices(const ReadFacts& facts, const ReadPlan& requested) {
  const ReadTuning& tuning = requested.tuning;
  const AgentScope usual = choose_agent_scope(facts, requested);
  std::vector<AgentChoice> choices{{}};
  const bool is_set = !tuning.agent_nodes.empty() || tuning.agent_scope == AgentScope::kPerRank ||
                      requested.pre_execution_mode == PreExecutionMode::kAgent;
  if (is_set) return choices;
  if (!tuning.agent_scope && facts.ranks_on_node > 1)
    choices.push_back(
        {usual == AgentScope::kPerNode ? AgentScope::kPerRank : AgentScope::kPerNode, 0});
  const std::uint32_t nodes = facts.linked_nodes > 1 ? facts.linked_nodes : 0;
  for (const std::uint32_t count : {nodes, nodes / 2, nodes / 4, std::min(nodes, 1U)})
    if (count > 0) choices.push_back({AgentScope::kPerNode, count});
  return choices;
}

/// As the agent of a node sees them: it reads bytes from other nodes as from a device.
ReadFacts facts_for(ReadFacts facts, const ReadPlan& requested, const AgentChoice& choice) {
  const AgentScope scope = choice.scope.value_or(choose_agent_scope(facts, requested));
  if (scope == AgentScope::kPerNode) facts.is_cached = false;
  if (choice.node_count > 0) facts.access = Access::kDirect;
  return facts;
}

/// True if a complete plan has the values that the program sets; plan_read() shortens requests to a
/// splinter.
bool has_values_of(const ReadTuning& requested, const ReadTuning& complete) {
  const auto is_kept = [](std::uint64_t set, std::uint64_t value) {
    return set == 0 || set == value;
  };
  return is_kept(requested.request_bytes, complete.request_bytes) &&
         is_kept(requested.queue_depth, complete.queue_depth) &&
         is_kept(requested.splinter_bytes, complete.splinter_bytes);
}

std::uint64_t scaled(std::uint64_t value, double factor) {
  return static_cast<std::uint64_t>(std::max(1.0, static_cast<double>(value) * factor));
}

Result<ReadPlan> complete_plan(const ReadFacts& facts,
                               const ReadPlan& requested,
                               const ReadCandidate& candidate) {
  return plan_read(facts, plan_with(candidate, requested, facts.linked_nodes));
}

/// Appends the candidate, unless it exists already or cannot be completed.
void add_candidate(const ReadFacts& facts,
                   const ReadPlan& requested,
                   ReadCandidate candidate,
                   std::vector<ReadCandidate>& candidates) {
  const Result<ReadPlan> complete = complete_plan(facts, requested, candidate);
  if (!complete || !has_values_of(requested.tuning, complete->tuning)) return;
  candidate.request_bytes = complete->tuning.request_bytes;
  candidate.queue_depth = complete->tuning.queue_depth;
  candidate.splinter_bytes = complete->tuning.splinter_bytes;
  if (std::ranges::find(candidates, candidate) == candidates.end()) candidates.push_back(candidate);
}

/// Appends the candidates with multiples of the default sizes and depth for these agents.
void add_candidates(const ReadFacts& facts,
                    const ReadPlan& requested,
                    ReadCandidate candidate,
                    std::vector<ReadCandidate>& candidates) {
  const Result<ReadPlan> usual = complete_plan(facts, requested, candidate);
  if (!usual) return;
  const ReadTuning& tuning = usual->tuning;
  if (candidate.agent_node_count > 0) {
    const std::uint64_t even = facts.extent.size / (kStripesPerNode * candidate.agent_node_count);
    candidate.agent_stripe_bytes =
        std::clamp(std::bit_floor(even), tuning.splinter_bytes, tuning.agent_stripe_bytes);
  }
  for (const double splinter : kMultiples) {
    candidate.splinter_bytes = std::bit_floor(scaled(tuning.splinter_bytes, splinter));
    for (const double request : kMultiples) {
      candidate.request_bytes = std::bit_floor(scaled(tuning.request_bytes, request));
      for (const double depth : kMultiples) {
        candidate.queue_depth = static_cast<std::uint32_t>(scaled(tuning.queue_depth, depth));
        add_candidate(facts, requested, candidate, candidates);
      }
    }
  }
}

/// The default is between the two.
double scope_feature(const ReadCandidate& candidate) {
  if (!candidate.agent_scope) return 0;
  return candidate.agent_scope == AgentScope::kPerNode ? 1 : -1;
}

double log2_of(std::uint64_t value) {
  return std::log2(static_cast<double>(std::max<std::uint64_t>(value, 1)));
}

}  // namespace

std::vector<ReadCandidate> read_candidates(const ReadFacts& facts, const ReadPlan& requested) {
  ReadPlan open = requested;
  open.access.reset();
  ReadFacts known = facts;
  known.access = requested.access.value_or(facts.access);
  std::vector<ReadCandidate> candidates;
  for (const AgentChoice& choice : agent_choices(known, requested)) {
    add_candidates(facts_for(known, requested, choice), open,
                   {.agent_scope = choice.scope, .agent_node_count = choice.node_count},
                   candidates);
    if (candidates.empty()) break;
  }
  return candidates;
}

ReadPlan plan_with(const ReadCandidate& candidate,
                   const ReadPlan& requested,
                   std::uint32_t linked_nodes) {
  ReadPlan plan = requested;
  ReadTuning& tuning = plan.tuning;
  const auto set = [](auto& value, auto tried) {
    if (value == 0) value = tried;
  };
  set(tuning.request_bytes, candidate.request_bytes);
  set(tuning.queue_depth, candidate.queue_depth);
  set(tuning.splinter_bytes, candidate.splinter_bytes);
  if (!tuning.agent_scope) tuning.agent_scope = candidate.agent_scope;
  if (!tuning.agent_nodes.empty()) return plan;
  const std::uint64_t count = candidate.agent_node_count;
  for (std::uint64_t i = 0; i < count; ++i)
    tuning.agent_nodes.push_back(static_cast<std::uint32_t>(i * linked_nodes / count));
  set(tuning.agent_stripe_bytes, candidate.agent_stripe_bytes);
  return plan;
}

std::vector<model::TunerCandidate> features_of(const std::vector<ReadCandidate>& candidates) {
  std::uint32_t nodes_max = 0;
  for (const ReadCandidate& one : candidates)
    nodes_max = std::max(nodes_max, one.agent_node_count);
  std::vector<model::TunerCandidate> features;
  for (const ReadCandidate& one : candidates) {
    const std::uint32_t nodes = one.agent_node_count > 0 ? one.agent_node_count : 2 * nodes_max;
    features.push_back({{log2_of(one.request_bytes), log2_of(one.queue_depth),
                         log2_of(one.splinter_bytes), log2_of(nodes), scope_feature(one)}});
  }
  return features;
}

}  // namespace forebay
