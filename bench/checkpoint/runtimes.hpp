// SPDX-License-Identifier: Apache-2.0
// Forebay's Runtime as in a program: created once, at its start, and used for all reads and writes.
// There is one for each team, because a Runtime belongs to its ranks.
#pragma once

#include <forebay/runtime.hpp>

#include "bench/checkpoint/candidate.hpp"

namespace forebay::bench::checkpoint {

/// The Runtime of a team, created at the first call, which is collective.
Runtime& runtime_of(const RankTeam& team);

/// Ends all Runtimes, the last one first. Collective over all of their ranks. Call it before a
/// team's communicator is freed, and before MPI ends.
void end_runtimes() noexcept;

}  // namespace forebay::bench::checkpoint
