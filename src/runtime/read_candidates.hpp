// SPDX-License-Identifier: Apache-2.0
// ReadCandidate: values of a ReadPlan that the sessions of a loop try (ReadPlan::tune). Pure.
#pragma once

#include <forebay/read_plan.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "model/candidate_tuner.hpp"
#include "read/plan.hpp"

namespace forebay {

/// Trivially copyable, so that a rank can send it.
struct ReadCandidate {
  std::uint64_t request_bytes = 0;
  std::uint64_t splinter_bytes = 0;
  std::uint32_t queue_depth = 0;
  /// Absent: each rank has the default of its node.
  std::optional<AgentScope> agent_scope = std::nullopt;
  /// Nodes whose agents read, evenly spread; 0: each node reads for its own ranks, or the plan
  /// names the nodes.
  std::uint32_t agent_node_count = 0;
  std::uint64_t agent_stripe_bytes = 0;  ///< 0 with `agent_node_count` 0

  friend bool operator==(const ReadCandidate&, const ReadCandidate&) noexcept = default;
};

/// Distinct candidates with the values that `requested` sets; the first one is the default. Agents
/// are varied as far as `facts` has ranks and nodes that could share them. Empty if plan_read()
/// fails.
std::vector<ReadCandidate> read_candidates(const ReadFacts& facts, const ReadPlan& requested);

/// `requested` with the candidate's values where it has none.
ReadPlan plan_with(const ReadCandidate& candidate,
                   const ReadPlan& requested,
                   std::uint32_t linked_nodes);

/// For CandidateTuner.
std::vector<model::TunerCandidate> features_of(const std::vector<ReadCandidate>& candidates);

}  // namespace forebay
