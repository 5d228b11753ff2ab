// SPDX-License-Identifier: Apache-2.0
// Forebay's Runtime as a program has it: made once, at its start, and used for all that it writes
// and reads. There is one for each team, since a Runtime belongs to its ranks.
#pragma once

#include <forebay/runtime.hpp>

#include "bench/checkpoint/contender.hpp"

namespace forebay::bench::checkpoint {

/// That of a team: made when it is asked for the first time, which is collective.
Runtime& runtime_of(const Team& team);

/// Ends all, the last one first. Collective over everybody who has one. To be called before a
/// team's communicator is freed, and before MPI ends.
void end_runtimes() noexcept;

}  // namespace forebay::bench::checkpoint
