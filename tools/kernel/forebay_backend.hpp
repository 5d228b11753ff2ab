// SPDX-License-Identifier: Apache-2.0
// The backend `forebay` of kernels, and the Runtimes that it uses.
#pragma once

#include <forebay/error.hpp>

#include "kernels/backend.h"

extern const fk_backend fk_forebay;

namespace forebay::kernel {

/// Creates the Runtime of a communicator, if there is none. Collective over it.
void start_runtime(MPI_Comm communicator);
/// Creates a Runtime that dedicates one rank of each node to I/O. Returns the communicator of the
/// compute ranks, for jobs. On an I/O rank, serves them until they end their Runtimes, and returns
/// MPI_COMM_NULL. Collective over `communicator`.
Result<MPI_Comm> start_dedicated(MPI_Comm communicator);
/// Ends all Runtimes. Before MPI ends; collective.
void end_runtimes();

}  // namespace forebay::kernel
