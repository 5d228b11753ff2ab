// SPDX-License-Identifier: Apache-2.0
// Collective operations within timed sections. Ranks sleep while they wait: there may be more ranks
// than cores, and other work continues meanwhile.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>

#include "bench/checkpoint/candidate.hpp"

namespace forebay::bench::checkpoint {

/// Returns when all ranks have called it.
void sleeping_barrier(const RankTeam& team);

/// Syncs every file and directory below `directory`, and `directory`. Each rank syncs its share,
/// all of it concurrently, so that candidates with many files do not pay for each in sequence.
/// Collective; returns when all is done, with this rank's outcome.
Status sync_collective(const RankTeam& team, const std::filesystem::path& directory);

}  // namespace forebay::bench::checkpoint
