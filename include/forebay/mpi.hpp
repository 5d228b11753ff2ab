// SPDX-License-Identifier: Apache-2.0
// Forebay for MPI programs: include this with <forebay/forebay.hpp>, link forebay::mpi, and create
// a `forebay::Runtime runtime(MPI_COMM_WORLD)`. No other change is needed.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/ranks.hpp>

#include <mpi.h>

namespace forebay {

/// Collective. The ranks of `communicator`, which is duplicated, so messages of Forebay and of the
/// program never match each other. MPI must be initialized before, and finalized after the Runtime
/// has ended. On failure, every call on a Runtime created with these Ranks returns the Error.
FOREBAY_EXPORT Ranks ranks_of(MPI_Comm communicator);

/// The communicator of `ranks`. MPI_COMM_NULL if these are not MPI ranks or hold an Error.
///
/// Forebay sends no messages in the communicator of Runtime::compute_ranks(). The application may
/// use that one, also for collective calls, while a copy of these Ranks exists. Do not free it. Its
/// error handler is that of the communicator with which the Runtime was created.
FOREBAY_EXPORT MPI_Comm communicator_of(const Ranks& ranks);

template <>
struct RanksOf<MPI_Comm> {
  static Ranks make(MPI_Comm communicator) { return ranks_of(communicator); }
};

}  // namespace forebay
