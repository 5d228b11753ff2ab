// SPDX-License-Identifier: Apache-2.0
// State that the ranks of one process share: one lock, the ranks that have left, and the collective
// calls of each communicator. One lock for all state is slow but simple, which suits tests.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/match_queue.hpp"

namespace forebay::comm {

struct CommunicatorState;

/// One collective call: the contribution of each rank. Complete when all have contributed.
struct CollectiveCall {
  explicit CollectiveCall(std::size_t ranks) : contributions(ranks) {}

  std::vector<std::optional<Bytes>> contributions;  ///< by rank
  std::size_t missing_count = contributions.size();
  const char* name = nullptr;  ///< to check that all ranks make the same call
  /// Communicators that a split has created, by color.
  std::map<std::uint32_t, std::shared_ptr<CommunicatorState>> split_states = {};
};

/// A communicator, shared by all its ranks.
struct CommunicatorState {
  explicit CommunicatorState(std::vector<Rank> members);

  std::vector<Rank> members;  ///< by rank of this communicator: the number in the job
  std::shared_ptr<CollectiveCall> current_call;
  std::vector<MatchQueue> match_queues;  ///< by receiver
};

/// All ranks of one run_ranks() call, or the one rank of self_communicator(). `mutex` guards all
/// members, and every CommunicatorState, CollectiveCall and MatchQueue.
struct InProcessJob {
  explicit InProcessJob(std::uint32_t ranks) : has_left(ranks, false) {}

  std::mutex mutex = {};
  std::condition_variable changed = {};
  std::vector<bool> has_left;
  std::optional<Error> failure = std::nullopt;  ///< the first in time

  /// Records that `rank` has ended with `outcome`, and wakes all waiting ranks.
  void leave(Rank rank, const Status& outcome);

  /// The Error of a wait for `rank`, which has left.
  Error departed_error(const char* operation, Rank rank) const;
};

}  // namespace forebay::comm
