// SPDX-License-Identifier: Apache-2.0
// Runs a kernel with one backend and measures its phases.
#ifndef FOREBAY_KERNELS_RUNNER_H
#define FOREBAY_KERNELS_RUNNER_H

#include <stdio.h>

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Phases of a rank in a step.
enum fk_phase {
  FK_PHASE_COMPUTE,
  FK_PHASE_OPEN,
  FK_PHASE_WRITE,
  FK_PHASE_CLOSE,
  FK_PHASE_READ,
  FK_PHASES
};

/// What the application computes: in registers, or a stream through 64 MiB of memory.
enum fk_compute { FK_CPU, FK_MEMORY };
enum fk_cache { FK_AS_IT_IS, FK_COLD };
enum fk_input { FK_WRITTEN, FK_KEPT };
/// Before and after the reads of a step, while no rank reads.
enum fk_moment { FK_READS_BEGIN, FK_READS_END };

struct fk_settings {
  enum fk_compute compute;
  double compute_scale;  ///< of the kernel's seconds of computation; 0: none
  enum fk_cache cache;   ///< FK_COLD: data leaves the page cache before it is read
  enum fk_input input;   ///< FK_KEPT: writes before the first step are those of an earlier run
  int verify_steps;      ///< steps whose content is verified after the run, from the last; -1: all
  /// Called by rank 0 around timed reads, outside the clock. NULL on all ranks, or on none.
  void (*on_reads)(void* observer, enum fk_moment moment);
  void* observer;
};

/// The result on rank 0; on the other ranks only `status` and `error` have a meaning.
struct fk_result {
  int status;  ///< 0, or -1 with `error`
  char error[FK_ERROR_MAX];
  uint32_t ranks;
  uint32_t steps;
  float* seconds;        ///< [step][phase][rank], by calloc()
  uint64_t* step_bytes;  ///< [step][rank]: written and read, by calloc()
  double total_s;        ///< until the application has ended
  double durable_s;      ///< until every byte is on storage
  double fill_s;         ///< of the slowest rank: making content, part of compute
  uint64_t written_bytes;
  uint64_t read_bytes;
  uint64_t verified_bytes;
  uint64_t files;
  uint64_t memory_max_bytes;  ///< growth of a rank, or staging if that is larger
  uint64_t memory_sum_bytes;  ///< of all ranks
  uint64_t staging_bytes;     ///< of all ranks
  double staging_over_plan;   ///< of the rank with the largest ratio; 0: no bound
  char plan[FK_PLAN_MAX];     ///< as in fk_report
  const char* more;           ///< further members of the printed object, or NULL
};

/// Collective over the communicator of the job, whose size is the number of writers. The directory
/// is emptied first unless the input is kept, and keeps the files of the run.
void fk_run(const struct fk_backend* backend,
            struct fk_job* job,
            const struct fk_settings* settings,
            struct fk_result* result);
void fk_free_result(struct fk_result* result);

/// One JSON object on one line.
void fk_print_result(const struct fk_result* result, const char* name, FILE* file);

#ifdef __cplusplus
}
#endif

#endif
