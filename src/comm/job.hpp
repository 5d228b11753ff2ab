// SPDX-License-Identifier: Apache-2.0
// What the ranks of one process share: one lock, who has left, and the meeting points of each
// communicator. One lock for all of it is slow and easily right, which is what tests want.
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
#include "comm/mailbox.hpp"

namespace forebay::comm {

struct Group;

/// One collective call: what each rank brought. Complete when all have.
struct Round {
  explicit Round(std::size_t ranks) : brought(ranks) {}

  std::vector<std::optional<Bytes>> brought;
  std::size_t missing = brought.size();
  const char* call = nullptr;  ///< all ranks make the same
  /// Groups that this call made, by colour.
  std::map<std::uint32_t, std::shared_ptr<Group>> made = {};
};

/// A communicator, as all its ranks see it.
struct Group {
  explicit Group(std::vector<Rank> members);

  std::vector<Rank> members;  ///< ranks of the job
  std::shared_ptr<Round> round;
  std::vector<Mailbox> boxes;  ///< by receiver
};

/// All ranks of run_ranks(). `mutex` guards everything here, and every Group, Round and Mailbox.
struct Job {
  explicit Job(std::uint32_t ranks) : has_left(ranks, false) {}

  std::mutex mutex = {};
  std::condition_variable changed = {};
  std::vector<bool> has_left;
  std::optional<Error> failure = std::nullopt;  ///< the first in time

  /// `rank` has ended; whoever waits for it learns that.
  void leave(Rank rank, const Status& outcome);

  /// Why a wait for `rank` is in vain.
  Error desertion(const char* operation, Rank rank) const;
};

}  // namespace forebay::comm
