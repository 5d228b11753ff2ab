// SPDX-License-Identifier: Apache-2.0
// The Runtimes that backends of kernels use, one for each communicator, as a program makes one at
// its start.
#pragma once

#include <forebay/error.hpp>
#include <forebay/runtime.hpp>

#include <mpi.h>

namespace forebay::kernel {

/// The Runtime of a communicator; created by the first call, which is collective over it.
Runtime& runtime_of(MPI_Comm communicator);
/// Creates a Runtime that dedicates one rank of each node to I/O. Returns the communicator of the
/// compute ranks, for jobs. On an I/O rank, serves them until they end their Runtimes, and returns
/// MPI_COMM_NULL. Collective over `communicator`.
Result<MPI_Comm> start_dedicated(MPI_Comm communicator);
/// Ends all Runtimes. Before MPI ends; collective.
void end_runtimes();

}  // namespace forebay::kernel
