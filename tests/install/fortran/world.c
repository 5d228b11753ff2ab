/* SPDX-License-Identifier: Apache-2.0 */
/* The part of MPI that ranks.f90 calls: an MPI from a wheel has no modules of Fortran. */
#include <mpi.h>
#include <stddef.h>

MPI_Fint start_mpi(void);
void end_mpi(void);

MPI_Fint start_mpi(void) {
  MPI_Init(NULL, NULL);
  return MPI_Comm_c2f(MPI_COMM_WORLD);
}

void end_mpi(void) { MPI_Finalize(); }
