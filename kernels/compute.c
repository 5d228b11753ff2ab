// SPDX-License-Identifier: Apache-2.0
// Work in registers, or a stream through memory that is larger than caches.
#define _GNU_SOURCE
#include "compute.h"

#include <stdlib.h>
#include <time.h>

enum { kMemoryWords = (64 << 20) / sizeof(double), kUnitWords = 16384, kUnitSteps = 20000 };
static const double kCalibrationSeconds = 0.05;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void do_unit(struct fk_computation* computation) {
  if (computation->kind == FK_CPU) {
    for (int step = 0; step < kUnitSteps; ++step)
      computation->value = computation->value * 0.999999 + 0.5;
    __asm__ volatile("" : : "g"(computation->value) : "memory");
    return;
  }
  double* const words = computation->memory + computation->at;
  for (size_t i = 0; i < kUnitWords; ++i)
    words[i] = words[i] * 0.5 + 1.0;
  __asm__ volatile("" : : "g"(words[0]) : "memory");
  computation->at = (computation->at + kUnitWords) % kMemoryWords;
}

static double measure_speed(struct fk_computation* computation) {
  const double begin = now_s();
  double units = 0, seconds = 0;
  for (; seconds < kCalibrationSeconds; seconds = now_s() - begin, ++units)
    do_unit(computation);
  return units / seconds;
}

int fk_begin_computation(struct fk_computation* computation,
                         enum fk_compute kind,
                         MPI_Comm communicator) {
  static double speeds[2];
  *computation = (struct fk_computation){.kind = kind};
  if (kind == FK_MEMORY) {
    computation->memory = malloc(kMemoryWords * sizeof(double));
    if (computation->memory == NULL) return -1;
    for (size_t i = 0; i < kMemoryWords; ++i)
      computation->memory[i] = 1.0;
  }
  if (speeds[kind] == 0) {
    speeds[kind] = measure_speed(computation);
    MPI_Allreduce(MPI_IN_PLACE, &speeds[kind], 1, MPI_DOUBLE, MPI_MAX, communicator);
  }
  computation->units_per_s = speeds[kind];
  return 0;
}

void fk_do_computation(struct fk_computation* computation, double seconds) {
  const double units = seconds * computation->units_per_s;
  for (double done = 0; done < units; ++done)
    do_unit(computation);
}

void fk_end_computation(struct fk_computation* computation) { free(computation->memory); }
