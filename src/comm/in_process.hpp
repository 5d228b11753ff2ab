// SPDX-License-Identifier: Apache-2.0
// Ranks without MPI. One process alone is the default of every program. In tests, ranks are
// threads: a test can inspect all of them, and the thread sanitizer detects their races.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace forebay::comm {

/// The one rank of a process without MPI. All calls work, also messages of the rank to itself.
std::shared_ptr<Communicator> self_communicator();

/// Code of each rank. It must not keep its Communicator after it returns.
using RankFunction = std::function<Status(const std::shared_ptr<Communicator>&)>;

struct ThreadRanks {
  std::uint32_t count = 1;  ///< at least 1
  /// Ranks 0 .. n-1 form one node, n .. 2n-1 the next; 0: all share one.
  std::uint32_t per_node = 0;
};

/// For tests. Runs `code` on `ranks.count` threads, each with its own rank of one communicator, and
/// returns when all have ended. If a rank returns while others still need it, those get an Error of
/// class kClosed instead of an unbounded wait. An exception is a failure with kException. The
/// returned Error is that of the first rank, in time, that failed; Error::rank() is that rank.
Status run_ranks(ThreadRanks ranks, const RankFunction& code);

}  // namespace forebay::comm
