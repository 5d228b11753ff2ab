// SPDX-License-Identifier: Apache-2.0
// A preloaded tool that wraps calls of MPI-IO, too. Ends the program if it was not called.
#include <atomic>
#include <cstdlib>

#include <mpi.h>

namespace {
std::atomic<int> calls{0};
}

extern "C" int MPI_File_read_at(MPI_File file,
                                MPI_Offset offset,
                                void* into,
                                int count,
                                MPI_Datatype type,
                                MPI_Status* status) {
  ++calls;
  return PMPI_File_read_at(file, offset, into, count, type, status);
}

extern "C" int MPI_Finalize() {
  if (calls == 0) std::abort();
  return PMPI_Finalize();
}
