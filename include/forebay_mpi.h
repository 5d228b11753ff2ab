/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of Forebay for the ranks of an MPI job, in libforebay_mpi. Includes <forebay.h>,
   whose rules apply. A program creates its runtime here; nothing else changes. */
#ifndef FOREBAY_MPI_H
#define FOREBAY_MPI_H

#include <forebay.h>
#include <mpi.h>

/* As forebay_runtime_create(), for one of the ranks of `communicator`, which is duplicated.
   Collective over it; if options or variables of one rank are invalid, all ranks get its failure.
   MPI must be initialized before, and finalized after the runtime has ended. Fails with
   FOREBAY_INVALID_ARGUMENT for MPI_COMM_NULL. */
FOREBAY_API int forebay_runtime_create_mpi(MPI_Comm communicator,
                                           const forebay_runtime_options* options,
                                           forebay_runtime** runtime,
                                           forebay_error* error);

/* The same for the communicator of a Fortran program: an integer, or the component MPI_VAL of a
   type(MPI_Comm). */
FOREBAY_API int forebay_runtime_create_fortran(MPI_Fint communicator,
                                               const forebay_runtime_options* options,
                                               forebay_runtime** runtime,
                                               forebay_error* error);

/* Stores the communicator of the compute ranks, for use by the program. It belongs to the runtime.
   Fails with FOREBAY_INVALID_ARGUMENT on an I/O rank, and without MPI. */
FOREBAY_API int forebay_runtime_communicator(const forebay_runtime* runtime,
                                             MPI_Comm* communicator,
                                             forebay_error* error);

#endif
