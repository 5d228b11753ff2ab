// SPDX-License-Identifier: Apache-2.0
// The computation of an application: a fixed amount of work, so that disturbances by other threads
// are measured.
#ifndef FOREBAY_KERNELS_COMPUTE_H
#define FOREBAY_KERNELS_COMPUTE_H

#include "runner.h"

struct fk_computation {
  enum fk_compute kind;
  double units_per_s;
  double value;    // of FK_CPU, so that no compiler removes the work
  double* memory;  // of FK_MEMORY
  size_t at;
};

/// Collective. Measures the speed once in a process and for each kind, so that all runs of a job
/// have the same work. Returns 0, or -1 without memory.
int fk_begin_computation(struct fk_computation* computation,
                         enum fk_compute kind,
                         MPI_Comm communicator);
/// Work that takes this time on an undisturbed core.
void fk_do_computation(struct fk_computation* computation, double seconds);
void fk_end_computation(struct fk_computation* computation);

#endif
