// SPDX-License-Identifier: Apache-2.0
// What ranks do together while a clock runs, asleep where they wait: there may be more of them than
// cores, and somebody works meanwhile.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>

#include "bench/checkpoint/contender.hpp"

namespace forebay::bench::checkpoint {

/// Returns when all ranks have come.
void quiet_barrier(const Team& team);

/// Syncs every file and folder below `folder`, and itself: each rank its share, all of that at
/// once, so that a contender with many files does not wait for each of them in turn. Collective;
/// returns when all is done, with this rank's outcome.
Status sync_together(const Team& team, const std::filesystem::path& folder);

}  // namespace forebay::bench::checkpoint
