// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of this process: for tests, and for runs without MPI.
#pragma once

#include <cstdint>
#include <functional>

#include "flow/team.hpp"

namespace forebay::flow {

/// Runs `work` once for each rank, rank 0 on the calling thread, and comes back when all have.
/// No rank may return while another waits for it. An exception of a rank ends the waits of the
/// others; the first one is thrown again when all have ended.
void run_as_threads(std::uint32_t ranks, const std::function<void(Team&)>& work);

}  // namespace forebay::flow
