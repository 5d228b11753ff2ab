// SPDX-License-Identifier: Apache-2.0
// Ranks without MPI: one process alone, which is the default of every program, and threads that
// play ranks, so that tests can look at all of them at once and the thread sanitizer sees their
// races.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace forebay::comm {

/// The one rank of a process without MPI. Everything works, messages to itself included.
std::shared_ptr<Communicator> solo();

/// What each rank runs. Its Communicator may be kept until it returns, no longer.
using RankCode = std::function<Status(const std::shared_ptr<Communicator>&)>;

struct ThreadRanks {
  std::uint32_t count = 1;  ///< at least 1
  /// Ranks 0 .. n-1 play one node, n .. 2n-1 the next; 0: all share one.
  std::uint32_t per_node = 0;
};

/// For tests. Runs `code` on `ranks.count` threads, each with its own rank of one communicator, and
/// returns when all have ended. A rank that returns, in whatever way, while others still need it,
/// gives those an Error of class kClosed instead of a wait without end; one that throws has failed
/// with kException. The Error returned is that of the rank that failed first in time, named.
Status run_ranks(ThreadRanks ranks, const RankCode& code);

}  // namespace forebay::comm
