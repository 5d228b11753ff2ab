// SPDX-License-Identifier: Apache-2.0
// Converts a program's communicator to the ranks of a Runtime, and back.
#include <forebay/mpi.hpp>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/ranks_access.hpp"

namespace forebay {

Ranks ranks_of(MPI_Comm communicator) {
  auto made = comm::from_mpi(communicator);
  return made ? comm::make_ranks(std::move(*made)) : Ranks(made.error());
}

MPI_Comm communicator_of(const Ranks& ranks) {
  return comm::ranks_communicator(ranks) ? comm::handle_of(**comm::ranks_communicator(ranks))
                                         : MPI_COMM_NULL;
}

}  // namespace forebay
