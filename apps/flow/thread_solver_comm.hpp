// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of this process: for tests, and for runs without MPI.
#pragma once

#include <cstdint>
#include <functional>

#include "flow/solver_comm.hpp"

namespace forebay::flow {

/// Calls `work` once for each rank, rank 0 on the calling thread, and returns when all have ended.
/// No rank may return while another waits for it. An exception of a rank ends the waits of the
/// others; the first one is rethrown when all have ended.
void run_thread_ranks(std::uint32_t ranks, const std::function<void(SolverComm&)>& work);

}  // namespace forebay::flow
