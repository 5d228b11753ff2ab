// SPDX-License-Identifier: Apache-2.0
// The backend `forebay` of kernels, and the Runtimes that it uses.
#pragma once

#include "kernels/backend.h"

extern const fk_backend fk_forebay;

namespace forebay::kernel {

/// Creates the Runtime of a communicator, if there is none. Collective over it.
void start_runtime(MPI_Comm communicator);
/// Ends all Runtimes. Before MPI ends; collective.
void end_runtimes();

}  // namespace forebay::kernel
