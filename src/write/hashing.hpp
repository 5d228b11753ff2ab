// SPDX-License-Identifier: Apache-2.0
// Who works out checksums: put(), on the bytes that it copies, or the agent, later, on those that
// it has. Whichever keeps the application for less time. Pure: numbers in, numbers out.
#pragma once

#include <forebay/write_plan.hpp>

#include <cstdint>
#include <string>

namespace forebay::write {

/// What one core does, in MB/s, with bytes that are in no cache. The defaults were measured on a
/// quiet machine of two Zen 3 cores, in put() and by hash_of(); what counts is how they compare.
struct HashingSpeeds {
  double copy_mb_per_s = 9600;         ///< copy_past_cache()
  double hashed_copy_mb_per_s = 5700;  ///< hashed_copy()
  double hash_mb_per_s = 11000;        ///< hash_of()
};

/// The node that has the fewest cores for what its ranks do.
struct HashingPlace {
  std::uint32_t ranks = 1;     ///< that compute there
  std::uint32_t cores = 0;     ///< that they may use together; 0: not known, so none is free
  double storage_mb_per_s = 0; /**< how fast agents there get rid of bytes, all together; 0: not
                                    known, and taken to be slower than hashing */
};

/// For how long an application is kept by one MB that a rank puts, in microseconds.
struct HashingCost {
  double copy_us = 0;   ///< hashed by put()
  double agent_us = 0;  ///< copied by put(), hashed by the agent

  ChecksumBy cheaper() const {
    return copy_us <= agent_us ? ChecksumBy::kCopy : ChecksumBy::kAgent;
  }
};

/// Cores on which agents hash while all ranks compute: an agent is one thread, so at most one for
/// each rank.
std::uint32_t cores_for_agents(const HashingPlace& place);

/// Agents that have no core of their own take one from a rank: copying and a second pass over
/// memory, all of it is lost. On free cores it costs nothing as long as storage takes longer for
/// the same bytes; what it takes longer than storage holds up the memory that put() waits for.
HashingCost hashing_cost(const HashingPlace& place, const HashingSpeeds& speeds = {});

/// "checksums by the agent, on 2 free cores of a node with 2 ranks (104 us for each MB, on the copy
/// 175)".
std::string reason_of(const HashingPlace& place, const HashingCost& cost);

}  // namespace forebay::write
