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

template <>
struct RanksOf<MPI_Comm> {
  static Ranks make(MPI_Comm communicator) { return ranks_of(communicator); }
};

}  // namespace forebay
