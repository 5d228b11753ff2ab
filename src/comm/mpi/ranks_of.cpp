// SPDX-License-Identifier: Apache-2.0
// The bridge from a program's own communicator to a Runtime.
#include <forebay/mpi.hpp>

#include "comm/mpi/mpi_communicator.hpp"

namespace forebay {

Ranks ranks_of(MPI_Comm communicator) {
  auto made = comm::from_mpi(communicator);
  return made ? Ranks(std::move(*made)) : Ranks(made.error());
}

}  // namespace forebay
