// SPDX-License-Identifier: Apache-2.0
#include "write/hashing.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"

namespace forebay::write {

namespace {

/// Microseconds for one MB at this rate.
double us_of_mb(double mb_per_s) { return 1e6 / mb_per_s; }

std::string rounded(double value) { return std::to_string(std::lround(value)); }

}  // namespace

std::uint32_t cores_for_agents(const HashingNode& node) {
  return node.cores > node.ranks ? std::min(node.cores - node.ranks, node.ranks) : 0;
}

HashingCost hashing_cost(const HashingNode& node, const HashingRates& speeds) {
  FOREBAY_ASSERT(node.ranks > 0);
  HashingCost cost{.copy_us = us_of_mb(speeds.hashed_copy_mb_per_s),
                   .agent_us = us_of_mb(speeds.copy_mb_per_s)};
  const double hash_us = us_of_mb(speeds.hash_mb_per_s);
  const std::uint32_t free = cores_for_agents(node);
  if (free == 0) {
    cost.agent_us += hash_us;
    return cost;
  }
  if (node.storage_mb_per_s == 0) return cost;
  const double hashing_us = hash_us * node.ranks / free;
  const double storing_us = us_of_mb(node.storage_mb_per_s) * node.ranks;
  cost.agent_us += std::max(0.0, hashing_us - storing_us);
  return cost;
}

std::string reason_of(const HashingNode& node, const HashingCost& cost) {
  const bool by_agent = cost.choice() == ChecksumStage::kAgent;
  const std::uint32_t free = cores_for_agents(node);
  std::string on = free == 0 ? "no core is free" : std::to_string(free) + " free";
  if (free > 0) on += free == 1 ? " core" : " cores";
  if (node.cores == 0) on = "free cores are not known";
  return std::string("checksums ") + (by_agent ? "by the agent, " : "on the copy, ") + on +
         " on a node with " + std::to_string(node.ranks) +
         (node.ranks == 1 ? " rank (" : " ranks (") +
         rounded(by_agent ? cost.agent_us : cost.copy_us) + " us for each MB, " +
         (by_agent ? "on the copy " : "by the agent ") +
         rounded(by_agent ? cost.copy_us : cost.agent_us) + ")";
}

}  // namespace forebay::write
