// SPDX-License-Identifier: Apache-2.0
// Files and numbers of a run. Ranks share the work on files, and rank 0 gets the numbers of all.
#define _GNU_SOURCE
#include "run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kDepth = 16, kHugePageBytes = 2 << 20 };

/// nftw() passes no argument to its function.
static struct {
  struct fk_job* job;
  uint64_t number;  // of the file or directory
  uint32_t own;     // its remainder by `sharing` for those of this rank
  uint32_t sharing;
  uint64_t files;
  enum { kSync, kDrop, kCount } what;
} walk;

static int remove_one(const char* path, const struct stat* about, int type, struct FTW* place) {
  (void)about;
  (void)type;
  if (place->level > 0 && remove(path) != 0 && errno != ENOENT)
    fk_fail(walk.job, "remove", path, strerror(errno));
  return 0;
}

/// Every path whose number is one of this rank. Files that vanish meanwhile are skipped.
static int treat_one(const char* path, const struct stat* about, int type, struct FTW* place) {
  (void)about;
  (void)place;
  if (type == FTW_F) ++walk.files;
  if (walk.what == kCount || walk.number++ % walk.sharing != walk.own) return 0;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  if (walk.what == kSync && fsync(file) != 0) fk_fail(walk.job, "sync", path, strerror(errno));
  if (walk.what == kDrop && type == FTW_F) posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
  return 0;
}

void fk_wait_for_all(struct fk_job* job) {
  const struct timespec pause = {.tv_nsec = 200000};
  MPI_Request request;
  MPI_Ibarrier(job->communicator, &request);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    nanosleep(&pause, NULL);
  }
}

void fk_make_empty(struct fk_job* job) {
  walk.job = job;
  if (job->rank == 0) nftw(job->directory, remove_one, kDepth, FTW_DEPTH | FTW_PHYS);
  fk_wait_for_all(job);
}

/// What other nodes have written and still hold: fsync() of a file here does not write it.
static void sync_node(struct fk_job* job) {
  const int file = open(job->directory, O_RDONLY | O_CLOEXEC);
  if (file < 0 || syncfs(file) != 0) fk_fail(job, "sync", job->directory, strerror(errno));
  if (file >= 0) close(file);
}

void fk_sync_files(struct fk_job* job) {
  fk_wait_for_all(job);
  if (job->nodes > 1) {
    if (job->node_rank == 0) sync_node(job);
    fk_wait_for_all(job);
  }
  walk.job = job;
  walk.number = walk.files = 0;
  walk.own = job->rank;
  walk.sharing = job->ranks;
  walk.what = kSync;
  nftw(job->directory, treat_one, kDepth, FTW_PHYS);
  fk_wait_for_all(job);
}

void fk_drop_files(struct fk_job* job) {
  walk.job = job;
  walk.number = walk.files = 0;
  walk.own = job->node_rank;
  walk.sharing = job->node_ranks;
  walk.what = kDrop;
  nftw(job->directory, treat_one, kDepth, FTW_PHYS);
  fk_wait_for_all(job);
}

static uint64_t count_files(struct fk_job* job) {
  walk.job = job;
  walk.files = 0;
  walk.what = kCount;
  nftw(job->directory, treat_one, kDepth, FTW_PHYS);
  return walk.files;
}

unsigned char* fk_make_memory(uint64_t bytes) {
  void* memory = NULL;
  const uint64_t whole = (bytes + kHugePageBytes) / kHugePageBytes * kHugePageBytes;
  if (posix_memalign(&memory, kHugePageBytes, whole) != 0) return NULL;
  madvise(memory, whole, MADV_HUGEPAGE);
  memset(memory, 0, whole);
  return memory;
}

static uint64_t resident_before;

static uint64_t status_bytes(const char* key) {
  FILE* const status = fopen("/proc/self/status", "r");
  unsigned long long kib = 0;
  char line[256];
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) sscanf(line + strlen(key), "%llu", &kib);
  if (status != NULL) fclose(status);
  return kib * 1024;
}

void fk_begin_memory_peak(void) {
  FILE* const reset = fopen("/proc/self/clear_refs", "w");
  if (reset != NULL) {
    fputs("5", reset);  // resets the peak to what is resident now
    fclose(reset);
  }
  resident_before = status_bytes("VmRSS:");
}

uint64_t fk_memory_growth_bytes(void) {
  const uint64_t peak = status_bytes("VmHWM:");
  return peak > resident_before ? peak - resident_before : 0;
}

int fk_reserve_result(struct fk_job* job, struct fk_result* result) {
  const size_t steps = (size_t)result->steps * result->ranks;
  if (job->rank != 0) return 0;
  result->seconds = calloc(steps * FK_PHASES, sizeof *result->seconds);
  result->step_bytes = calloc(steps, sizeof *result->step_bytes);
  if (result->seconds != NULL && result->step_bytes != NULL) return 0;
  return fk_fail(job, "allocate", "memory of results", "no memory");
}

/// The `count` numbers of each rank, as [...][rank] in `into` of rank 0.
static void gather(
    struct fk_job* job, const void* own, size_t count, MPI_Datatype type, void* into) {
  MPI_Datatype column, placed;
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  MPI_Type_vector((int)count, 1, (int)job->ranks, type, &column);
  MPI_Type_create_resized(column, 0, bytes, &placed);
  MPI_Type_commit(&placed);
  MPI_Gather(own, (int)count, type, into, 1, placed, 0, job->communicator);
  MPI_Type_free(&placed);
  MPI_Type_free(&column);
}

void fk_reduce(struct fk_job* job,
               struct fk_own own,
               const float* seconds,
               const uint64_t* step_bytes,
               struct fk_result* result) {
  const uint64_t used = own.growth_bytes > own.staging_bytes ? own.growth_bytes : own.staging_bytes;
  const double over_plan =
      own.planned_bytes > 0 ? (double)own.staging_bytes / (double)own.planned_bytes : 0;
  const double largest[] = {own.total_s, own.durable_s, own.fill_s, (double)used, over_plan};
  const uint64_t sums[] = {own.written_bytes, own.read_bytes, own.verified_bytes, used,
                           own.staging_bytes};
  enum { kLargest = sizeof largest / sizeof *largest, kSums = sizeof sums / sizeof *sums };
  double max[kLargest] = {0};
  uint64_t sum[kSums] = {0};
  MPI_Reduce(largest, max, kLargest, MPI_DOUBLE, MPI_MAX, 0, job->communicator);
  MPI_Reduce(sums, sum, kSums, MPI_UINT64_T, MPI_SUM, 0, job->communicator);
  const size_t steps = result->steps;
  gather(job, seconds, steps * FK_PHASES, MPI_FLOAT, result->seconds);
  gather(job, step_bytes, steps, MPI_UINT64_T, result->step_bytes);
  result->total_s = max[0];
  result->durable_s = max[1] > max[0] ? max[1] : max[0];
  result->fill_s = max[2];
  result->memory_max_bytes = (uint64_t)max[3];
  result->staging_over_plan = max[4];
  result->written_bytes = sum[0];
  result->read_bytes = sum[1];
  result->verified_bytes = sum[2];
  result->memory_sum_bytes = sum[3];
  result->staging_bytes = sum[4];
  if (job->rank == 0) result->files = count_files(job);
}

void fk_free_result(struct fk_result* result) {
  free(result->seconds);
  free(result->step_bytes);
  result->seconds = NULL;
  result->step_bytes = NULL;
}

static void print_seconds(const struct fk_result* result, FILE* file) {
  static const char* const names[FK_PHASES] = {"compute", "open", "write", "close", "read"};
  fputs(",\"phases\":{", file);
  for (int phase = 0; phase < FK_PHASES; ++phase) {
    fprintf(file, "%s\"%s\":[", phase > 0 ? "," : "", names[phase]);
    for (uint32_t step = 0; step < result->steps; ++step) {
      fputs(step > 0 ? ",[" : "[", file);
      for (uint32_t rank = 0; rank < result->ranks; ++rank)
        fprintf(file, "%s%.6g", rank > 0 ? "," : "",
                (double)result->seconds[((size_t)step * FK_PHASES + phase) * result->ranks + rank]);
      fputs("]", file);
    }
    fputs("]", file);
  }
  fputs("}", file);
}

static void print_bytes(const struct fk_result* result, FILE* file) {
  fputs(",\"step_bytes\":[", file);
  for (uint32_t step = 0; step < result->steps; ++step) {
    fputs(step > 0 ? ",[" : "[", file);
    for (uint32_t rank = 0; rank < result->ranks; ++rank)
      fprintf(file, "%s%llu", rank > 0 ? "," : "",
              (unsigned long long)result->step_bytes[(size_t)step * result->ranks + rank]);
    fputs("]", file);
  }
  fputs("]", file);
}

static void print_text(const char* text, FILE* file) {
  fputc('"', file);
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  }
  fputc('"', file);
}

void fk_print_result(const struct fk_result* result, const char* name, FILE* file) {
  fputs("{\"backend\":", file);
  print_text(name, file);
  if (result->status != 0 || result->seconds == NULL || result->step_bytes == NULL) {
    fputs(",\"error\":", file);
    print_text(result->status != 0 ? result->error : "no memory for the results", file);
    fputs("}\n", file);
    return;
  }
  fprintf(file, ",\"ranks\":%u,\"steps\":%u,\"total_s\":%.9g,\"durable_s\":%.9g,\"fill_s\":%.9g",
          result->ranks, result->steps, result->total_s, result->durable_s, result->fill_s);
  fprintf(file, ",\"written_bytes\":%llu,\"read_bytes\":%llu,\"verified_bytes\":%llu",
          (unsigned long long)result->written_bytes, (unsigned long long)result->read_bytes,
          (unsigned long long)result->verified_bytes);
  fprintf(file, ",\"files\":%llu,\"memory_max_bytes\":%llu,\"memory_sum_bytes\":%llu",
          (unsigned long long)result->files, (unsigned long long)result->memory_max_bytes,
          (unsigned long long)result->memory_sum_bytes);
  fprintf(file, ",\"staging_bytes\":%llu,\"staging_over_plan\":%.6g",
          (unsigned long long)result->staging_bytes, result->staging_over_plan);
  if (result->plan[0] != '\0') fprintf(file, ",\"plan\":\"%s\"", result->plan);
  print_seconds(result, file);
  print_bytes(result, file);
  if (result->more != NULL) fprintf(file, ",%s", result->more);
  fputs("}\n", file);
}
