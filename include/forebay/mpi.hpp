// SPDX-License-Identifier: Apache-2.0
// Forebay for MPI programs: include this beside <forebay/forebay.hpp>, link forebay::mpi, and write
// `forebay::Runtime runtime(MPI_COMM_WORLD)`. Nothing else changes.
#pragma once

#include <forebay/ranks.hpp>

#include <mpi.h>

namespace forebay {

/// The ranks of `communicator`, which is duplicated: no message of Forebay's meets one of the
/// program's. Collective. MPI must be initialised, and be finalised after the Runtime has ended.
/// What fails is told by the first call on a Runtime that is made of them.
Ranks ranks_of(MPI_Comm communicator);

/// The communicator inside `ranks`; MPI_COMM_NULL if these are no ranks of MPI, or there are none.
/// For those of Runtime::compute(): Forebay sends nothing in it, so it is the application's to use,
/// also for collective calls, as long as a copy of these Ranks lives. Not to be freed. Errors are
/// handled in it as in the communicator that the Runtime was made of.
MPI_Comm communicator_of(const Ranks& ranks);

template <>
struct RanksOf<MPI_Comm> {
  static Ranks make(MPI_Comm communicator) { return ranks_of(communicator); }
};

}  // namespace forebay
