// SPDX-License-Identifier: Apache-2.0
// POSIX calls by hand: a file for each rank and step, through the page cache, synced or direct; or
// one shared file for each step. No library, so this is the baseline of every comparison.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"

enum { kTransferBytes = 8 << 20, kFileMode = 0644 };

struct posix_state {
  struct fk_job* job;
  int is_shared;
  int opens_per_call;  // in reads
  int is_direct;
  int is_synced;
  int file;
  char path[FK_PATH_MAX];
  const struct fk_array* arrays;  // of the step
  unsigned char* tail;            // a block of zeros after the end, for direct writes
};

static int failed(struct posix_state* state, const char* operation) {
  return fk_fail(state->job, operation, state->path, strerror(errno));
}

/// Bytes of a rank in an array.
static uint64_t bytes_of(const struct posix_state* state,
                         const struct fk_array* array,
                         uint32_t rank) {
  if (rank == state->job->rank) return array->calls->bytes;
  return array->starts[rank + 1] - array->starts[rank];
}

/// Where an array begins in a shared file, or the part of `rank` in its own file.
static uint64_t begin_of(const struct posix_state* state,
                         const struct fk_array* array,
                         uint32_t rank) {
  uint64_t begin = 0;
  if (state->is_shared) return fk_begin_in_step(state->arrays, array, state->job->ranks);
  for (const struct fk_array* before = state->arrays; before != array; ++before)
    begin += fk_round_up(bytes_of(state, before, rank));
  return begin;
}

static int open_step(struct posix_state* state, int64_t step, uint32_t rank, int flags) {
  char suffix[32] = "";
  if (!state->is_shared) snprintf(suffix, sizeof suffix, ".%u", rank);
  fk_step_path(state->job, "step", step, suffix, state->path);
  state->file = open(state->path, flags | O_CLOEXEC, kFileMode);
  return state->file < 0 ? failed(state, "open") : 0;
}

static int close_file(struct posix_state* state) {
  if (state->file < 0) return -1;
  const int outcome = close(state->file);
  state->file = -1;
  return outcome == 0 ? 0 : failed(state, "close");
}

static void* posix_start(struct fk_job* job) {
  struct posix_state* const state = calloc(1, sizeof *state);
  void* tail = NULL;
  const int is_shared = fk_has_option(job, "shared") || fk_has_option(job, "per-call");
  if (state == NULL || posix_memalign(&tail, FK_BLOCK_BYTES, FK_BLOCK_BYTES) != 0) {
    fk_fail(job, "start", job->directory, "no memory");
  } else if (is_shared && strchr(job->options, ',')) {
    fk_fail(job, "start", job->options, "a shared file has no further options");
  } else {
    *state = (struct posix_state){.job = job, .file = -1, .tail = tail};
    state->is_shared = is_shared;
    state->opens_per_call = fk_has_option(job, "per-call");
    state->is_direct = fk_has_option(job, "direct");
    state->is_synced = fk_has_option(job, "fsync") || state->is_direct;
  }
  if (fk_agree(job) == 0) return state;
  free(state);
  free(tail);
  return NULL;
}

static int posix_begin_write(void* raw, const struct fk_array* arrays, size_t count) {
  struct posix_state* const state = raw;
  state->arrays = arrays;
  const int flags = O_CREAT | O_WRONLY | (state->is_shared ? 0 : O_TRUNC);
  if (open_step(state, arrays[0].step, state->job->rank, flags | (state->is_direct ? O_DIRECT : 0)))
    return -1;
  if (!state->is_direct) return 0;
  const uint64_t end = begin_of(state, arrays + count, state->job->rank);
  errno = end > 0 ? posix_fallocate(state->file, 0, (off_t)end) : 0;  // which does not set it
  return errno == 0 ? 0 : failed(state, "allocate space for");
}

static int write_all(struct posix_state* state,
                     const unsigned char* bytes,
                     uint64_t size,
                     uint64_t offset) {
  while (size > 0) {
    const size_t some = size < kTransferBytes ? (size_t)size : kTransferBytes;
    const ssize_t written = pwrite(state->file, bytes, some, (off_t)offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(state, "write");
    bytes += written;
    size -= (uint64_t)written;
    offset += (uint64_t)written;
  }
  return 0;
}

/// The last block is padded, because direct writes have whole blocks.
static int write_direct(struct posix_state* state,
                        const unsigned char* bytes,
                        uint64_t size,
                        uint64_t offset) {
  const uint64_t whole = size / FK_BLOCK_BYTES * FK_BLOCK_BYTES;
  if (write_all(state, bytes, whole, offset) != 0) return -1;
  if (whole == size) return 0;
  memset(state->tail, 0, FK_BLOCK_BYTES);
  memcpy(state->tail, bytes + whole, size - whole);
  return write_all(state, state->tail, FK_BLOCK_BYTES, offset + whole);
}

/// In a file of its own, a rank's calls are contiguous, one after the other.
static int posix_write(void* raw, const struct fk_array* array, const void* memory) {
  struct posix_state* const state = raw;
  const uint64_t begin = begin_of(state, array, state->job->rank);
  const unsigned char* bytes = memory;
  if (state->file < 0) return -1;
  if (state->is_direct) return write_direct(state, bytes, array->calls->bytes, begin);
  uint64_t done = 0;
  for (size_t i = 0; i < array->calls->count; ++i) {
    const struct fk_call* const call = &array->calls->calls[i];
    const uint64_t offset = begin + (state->is_shared ? call->offset : done);
    if (write_all(state, bytes + done, call->bytes, offset) != 0) return -1;
    done += call->bytes;
  }
  return 0;
}

static int posix_end_write(void* raw) {
  struct posix_state* const state = raw;
  const int synced = state->file >= 0 && state->is_synced ? fsync(state->file) : 0;
  if (synced != 0) failed(state, "sync");
  return close_file(state) == 0 && synced == 0 ? 0 : -1;
}

static int posix_begin_read(void* raw, const struct fk_array* arrays, size_t count) {
  struct posix_state* const state = raw;
  (void)count;
  state->arrays = arrays;
  if (!state->is_shared || state->opens_per_call) return 0;
  return open_step(state, arrays[0].step, 0, O_RDONLY);
}

static int read_all(struct posix_state* state,
                    unsigned char* into,
                    uint64_t size,
                    uint64_t offset) {
  while (size > 0) {
    const size_t some = size < kTransferBytes ? (size_t)size : kTransferBytes;
    const ssize_t taken = pread(state->file, into, some, (off_t)offset);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return failed(state, "read");
    if (taken == 0) return fk_fail(state->job, "read", state->path, "the file ends too early");
    into += taken;
    size -= (uint64_t)taken;
    offset += (uint64_t)taken;
  }
  return 0;
}

/// Direct if place and memory allow it; the rest of a last block is copied from a whole one.
static int read_part(struct posix_state* state,
                     const struct fk_array* array,
                     uint32_t rank,
                     unsigned char* into,
                     struct fk_call part) {
  const uint64_t begin = begin_of(state, array, rank) + part.offset;
  const int is_direct =
      state->is_direct && begin % FK_BLOCK_BYTES == 0 && (uintptr_t)into % FK_BLOCK_BYTES == 0;
  if (open_step(state, array->step, rank, O_RDONLY | (is_direct ? O_DIRECT : 0)) != 0) return -1;
  const uint64_t whole = is_direct ? part.bytes / FK_BLOCK_BYTES * FK_BLOCK_BYTES : part.bytes;
  int outcome = read_all(state, into, whole, begin);
  if (outcome == 0 && whole < part.bytes) {
    const uint64_t rest = part.bytes - whole;
    outcome = read_all(state, state->tail, FK_BLOCK_BYTES, begin + whole);
    if (outcome == 0) memcpy(into + whole, state->tail, rest);
  }
  return close_file(state) == 0 ? outcome : -1;
}

/// Bytes of an array from the files of the ranks that wrote them.
static int read_from_ranks(struct posix_state* state,
                           const struct fk_array* array,
                           const struct fk_call* call,
                           unsigned char* into) {
  struct fk_call part;
  for (uint32_t rank = 0; fk_next_part(array, state->job->ranks, call, &rank, &part); ++rank) {
    const struct fk_call own = {part.offset - array->starts[rank], part.bytes};
    if (read_part(state, array, rank, into + (part.offset - call->offset), own) != 0) return -1;
  }
  return 0;
}

/// The bytes of a call from the shared file.
static int read_shared(struct posix_state* state,
                       const struct fk_array* array,
                       const struct fk_call* call,
                       unsigned char* into) {
  const uint64_t offset = begin_of(state, array, 0) + call->offset;
  if (state->opens_per_call && open_step(state, array->step, 0, O_RDONLY) != 0) return -1;
  if (state->file < 0) return -1;
  const int outcome = read_all(state, into, call->bytes, offset);
  if (!state->opens_per_call) return outcome;
  return close_file(state) == 0 ? outcome : -1;
}

static int read_own(struct posix_state* state,
                    const struct fk_array* array,
                    const struct fk_calls* calls,
                    unsigned char* into) {
  if (!fk_are_own(array, calls))
    return fk_fail(state->job, "read", state->path,
                   "ranks with files of their own read only what they wrote; use posix:shared");
  const struct fk_call all = {0, calls->bytes};
  return calls->bytes == 0 ? 0 : read_part(state, array, state->job->rank, into, all);
}

static int posix_read(void* raw,
                      const struct fk_array* array,
                      const struct fk_calls* calls,
                      void* memory) {
  struct posix_state* const state = raw;
  unsigned char* into = memory;
  const int is_listed = state->job->kernel->operations[array->operation].node_count > 0;
  if (!state->is_shared && is_listed) return read_own(state, array, calls, into);
  for (size_t i = 0; i < calls->count; ++i) {
    const struct fk_call* const call = &calls->calls[i];
    const int outcome = state->is_shared ? read_shared(state, array, call, into)
                                         : read_from_ranks(state, array, call, into);
    if (outcome != 0) return -1;
    into += call->bytes;
  }
  return 0;
}

static int posix_end_read(void* raw) {
  struct posix_state* const state = raw;
  return state->is_shared && !state->opens_per_call ? close_file(state) : 0;
}

static int posix_finish(void* raw) {
  struct posix_state* const state = raw;
  free(state->tail);
  free(state);
  return 0;
}

const struct fk_backend fk_posix = {
    .name = "posix",
    .options =
        "a file for each rank and step: page-cache (default), fsync, direct; one for each step: "
        "shared, or per-call, which opens it for each read",
    .accepts = "page-cache,fsync,direct,shared,per-call",
    .start = posix_start,
    .begin_write = posix_begin_write,
    .write = posix_write,
    .end_write = posix_end_write,
    .begin_read = posix_begin_read,
    .read = posix_read,
    .end_read = posix_end_read,
    .finish = posix_finish,
};
