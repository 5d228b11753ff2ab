// SPDX-License-Identifier: Apache-2.0
// Chooses where checksums are computed: in put(), during the copy, or later in the agent. Chooses
// the stage that blocks the application for less time. Pure: depends only on its arguments.
#pragma once

#include <forebay/write_plan.hpp>

#include <cstdint>
#include <string>

namespace forebay::write {

/// Rates of one core in MB/s, for bytes that are in no cache. The defaults were measured on an idle
/// machine of two Zen 3 cores, in put() and by hash_of(). The choice depends mostly on their
/// ratios.
struct HashingRates {
  double copy_mb_per_s = 9600;         ///< copy_nontemporal()
  double hashed_copy_mb_per_s = 5700;  ///< hashed_copy()
  double hash_mb_per_s = 11000;        ///< hash_of()
};

/// A node, for example the one with the fewest cores for the work of its ranks.
struct HashingNode {
  std::uint32_t ranks = 1;  ///< compute ranks of the node
  std::uint32_t cores = 0;  ///< that its compute ranks may use together; 0: unknown, none is free
  /// How fast the agents of the node write bytes, all together; 0: unknown, taken to be slower than
  /// hashing.
  double storage_mb_per_s = 0;
};

/// Time for which one MB that a rank puts blocks the application, in microseconds.
struct HashingCost {
  double copy_us = 0;   ///< hashed by put()
  double agent_us = 0;  ///< copied by put(), hashed by the agent

  ChecksumStage choice() const {
    return copy_us <= agent_us ? ChecksumStage::kCopy : ChecksumStage::kAgent;
  }
};

/// Number of cores on which agents can hash while all ranks compute. An agent is one thread, so at
/// most one core for each rank.
std::uint32_t cores_for_agents(const HashingNode& node);

/// Without a free core, an agent takes one from a rank: the copy and a second pass over memory both
/// block the application. On free cores hashing costs nothing while storage takes longer for the
/// same bytes. If hashing takes longer, the difference delays the release of memory to put().
HashingCost hashing_cost(const HashingNode& node, const HashingRates& speeds = {});

/// "checksums by the agent, 2 free cores on a node with 2 ranks (104 us for each MB, on the copy
/// 175)".
std::string reason_of(const HashingNode& node, const HashingCost& cost);

}  // namespace forebay::write
