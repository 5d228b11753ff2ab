// SPDX-License-Identifier: Apache-2.0
// Functions of <forebay_mpi.h>: a runtime from the communicator of a C or Fortran program.
#include <forebay/mpi.hpp>

#include <forebay_mpi.h>

#include "bindings/c/call.hpp"
#include "bindings/c/handles.hpp"

using namespace forebay::bindings;

int forebay_runtime_create_mpi(MPI_Comm communicator,
                               const forebay_runtime_options* options,
                               forebay_runtime** runtime,
                               forebay_error* error) {
  return make({"create a runtime", error}, {}, runtime, [&] {
    return new forebay_runtime{create_runtime(forebay::ranks_of(communicator), options)};
  });
}

int forebay_runtime_create_fortran(MPI_Fint communicator,
                                   const forebay_runtime_options* options,
                                   forebay_runtime** runtime,
                                   forebay_error* error) {
  return forebay_runtime_create_mpi(MPI_Comm_f2c(communicator), options, runtime, error);
}

int forebay_runtime_communicator(const forebay_runtime* runtime,
                                 MPI_Comm* communicator,
                                 forebay_error* error) {
  const char* const operation = "return the communicator";
  return run({operation, error}, {{"runtime", runtime}, {"communicator", communicator}}, [&] {
    *communicator = forebay::communicator_of(runtime->runtime->compute_ranks);
    if (*communicator != MPI_COMM_NULL) return;
    check(runtime->runtime->compute_ranks.status());
    refuse_argument(operation,
                    "the runtime was created without MPI; call forebay_runtime_create_mpi()");
  });
}
