// SPDX-License-Identifier: Apache-2.0
// The files, the memory and the numbers of a run: what the runner measures besides the time of
// calls.
#ifndef FOREBAY_KERNELS_RUN_FILES_H
#define FOREBAY_KERNELS_RUN_FILES_H

#include "runner.h"

/// A barrier without spinning: other processes of the job still work.
void fk_wait_for_all(struct fk_job* job);
/// Collective. Rank 0 removes everything in the directory of the job.
void fk_make_empty(struct fk_job* job);
/// Collective. Syncs all files and directories; ranks share the work. With several nodes, each of
/// them syncs the whole file system first.
void fk_sync_files(struct fk_job* job);
/// Collective. Drops all files, which are synced, from the page cache of every node.
void fk_drop_files(struct fk_job* job);

/// Touched memory that begins at a huge page, as direct transfers from small pages take up to twice
/// the time. Free it with free(). NULL: no memory.
unsigned char* fk_make_memory(uint64_t bytes);
/// The peak of resident memory of this process since fk_begin_memory_peak().
void fk_begin_memory_peak(void);
uint64_t fk_memory_growth_bytes(void);

/// Numbers of one rank.
struct fk_own {
  double total_s;
  double durable_s;
  double fill_s;
  uint64_t growth_bytes;
  uint64_t staging_bytes;
  uint64_t planned_bytes;
  uint64_t written_bytes;
  uint64_t read_bytes;
  uint64_t verified_bytes;
};

/// Memory of rank 0 for the arrays of a result, whose numbers of steps and ranks are set.
int fk_reserve_result(struct fk_job* job, struct fk_result* result);
/// Collective. Combines the numbers of all ranks on rank 0.
void fk_reduce(struct fk_job* job,
               struct fk_own own,
               const float* seconds,
               const uint64_t* step_bytes,
               struct fk_result* result);

#endif
