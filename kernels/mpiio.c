// SPDX-License-Identifier: Apache-2.0
// MPI-IO: one file for each step. Ranks write independently, call by call, or all calls of an array
// at once and collectively. All other options are hints for the MPI library.
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"

struct mpiio_state {
  struct fk_job* job;
  int is_collective;
  MPI_Info hints;
  MPI_File file;
  char path[FK_PATH_MAX];
  const struct fk_array* arrays;
};

static int check(struct mpiio_state* state, int code, const char* operation) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return 0;
  MPI_Error_string(code, text, &length);
  return fk_fail(state->job, operation, state->path, text);
}

static void* mpiio_start(struct fk_job* job) {
  struct mpiio_state* const state = calloc(1, sizeof *state);
  if (state == NULL) fk_fail(job, "start", job->directory, "no memory");
  if (fk_agree(job) != 0) {
    free(state);
    return NULL;
  }
  state->job = job;
  state->is_collective = fk_has_option(job, "collective");
  state->hints = fk_option_hints(job);
  state->file = MPI_FILE_NULL;
  return state;
}

static int open_step(struct mpiio_state* state, const struct fk_array* arrays, int mode) {
  state->arrays = arrays;
  fk_step_path(state->job, "step", arrays[0].step, "", state->path);
  const int code =
      MPI_File_open(state->job->communicator, state->path, mode, state->hints, &state->file);
  return check(state, code, "open");
}

static int close_step(struct mpiio_state* state) {
  if (state->file == MPI_FILE_NULL) return -1;
  return check(state, MPI_File_close(&state->file), "close");
}

static int mpiio_begin_write(void* raw, const struct fk_array* arrays, size_t count) {
  (void)count;
  return open_step(raw, arrays, MPI_MODE_CREATE | MPI_MODE_WRONLY);
}

static MPI_Offset begin_of(const struct mpiio_state* state, const struct fk_array* array) {
  return (MPI_Offset)fk_begin_in_step(state->arrays, array, state->job->ranks);
}

/// Bytes as one element, because a call has at most 2^31 - 1 of them.
static int make_type(uint64_t bytes, MPI_Datatype* type) {
  enum { kChunkBytes = 1 << 20 };
  const int chunks = (int)(bytes / kChunkBytes);
  MPI_Datatype chunk, parts[2];
  MPI_Type_contiguous(kChunkBytes, MPI_BYTE, &chunk);
  MPI_Type_contiguous(chunks, chunk, &parts[0]);
  parts[1] = MPI_BYTE;
  const int lengths[2] = {1, (int)(bytes % kChunkBytes)};
  const MPI_Aint places[2] = {0, (MPI_Aint)chunks * kChunkBytes};
  MPI_Type_create_struct(2, lengths, places, parts, type);
  MPI_Type_free(&parts[0]);
  MPI_Type_free(&chunk);
  return MPI_Type_commit(type);
}

/// The file view of all calls.
static int make_view(const struct fk_calls* calls, MPI_Datatype* view) {
  const size_t count = calls->count;
  MPI_Datatype* const types = malloc((count + 1) * sizeof *types);
  MPI_Aint* const places = malloc((count + 1) * sizeof *places);
  int* const lengths = malloc((count + 1) * sizeof *lengths);
  int outcome = types != NULL && places != NULL && lengths != NULL ? 0 : -1;
  for (size_t i = 0; i < count && outcome == 0; ++i) {
    lengths[i] = 1;
    places[i] = (MPI_Aint)calls->calls[i].offset;
    make_type(calls->calls[i].bytes, &types[i]);
  }
  if (outcome == 0) {
    MPI_Type_create_struct((int)count, lengths, places, types, view);
    MPI_Type_commit(view);
    for (size_t i = 0; i < count; ++i)
      MPI_Type_free(&types[i]);
  }
  free(types);
  free(places);
  free(lengths);
  return outcome;
}

enum direction { kWrite, kRead };

/// A call that succeeds may still transfer less: Open MPI does that on a full disk.
static int check_whole(struct mpiio_state* state,
                       enum direction direction,
                       int code,
                       const MPI_Status* status,
                       uint64_t bytes) {
  const char* const operation = direction == kWrite ? "write" : "read";
  MPI_Count done = 0;
  if (code != MPI_SUCCESS) return check(state, code, operation);
  MPI_Get_elements_x(status, MPI_BYTE, &done);
  if (done >= 0 && (uint64_t)done == bytes) return 0;
  char cause[128];
  snprintf(cause, sizeof cause, "%lld of %llu bytes were transferred%s", (long long)done,
           (unsigned long long)bytes, direction == kWrite ? "; is the storage full?" : "");
  return fk_fail(state->job, operation, state->path, cause);
}

/// All calls of the array in one collective call; ranks without calls take part.
static int transfer_together(struct mpiio_state* state,
                             enum direction direction,
                             MPI_Offset begin,
                             const struct fk_calls* calls,
                             void* memory) {
  MPI_Datatype view = MPI_BYTE, bytes = MPI_BYTE;
  const int has_calls = calls->count > 0;
  if (has_calls && make_view(calls, &view) != 0)
    return fk_fail(state->job, "make a view of", state->path, "no memory");
  if (has_calls) make_type(calls->bytes, &bytes);
  MPI_Status status;
  int code = MPI_File_set_view(state->file, begin, MPI_BYTE, view, "native", state->hints);
  if (code == MPI_SUCCESS) {
    code = direction == kWrite
               ? MPI_File_write_at_all(state->file, 0, memory, has_calls, bytes, &status)
               : MPI_File_read_at_all(state->file, 0, memory, has_calls, bytes, &status);
  }
  if (has_calls) {
    MPI_Type_free(&view);
    MPI_Type_free(&bytes);
    return check_whole(state, direction, code, &status, calls->bytes);
  }
  return check(state, code, direction == kWrite ? "write" : "read");
}

static int transfer_each(struct mpiio_state* state,
                         enum direction direction,
                         MPI_Offset begin,
                         const struct fk_calls* calls,
                         unsigned char* memory) {
  int outcome = 0;
  for (size_t i = 0; i < calls->count && outcome == 0; ++i) {
    const struct fk_call* const call = &calls->calls[i];
    const MPI_Offset at = begin + (MPI_Offset)call->offset;
    MPI_Datatype bytes;
    MPI_Status status;
    make_type(call->bytes, &bytes);
    const int code = direction == kWrite
                         ? MPI_File_write_at(state->file, at, memory, 1, bytes, &status)
                         : MPI_File_read_at(state->file, at, memory, 1, bytes, &status);
    MPI_Type_free(&bytes);
    outcome = check_whole(state, direction, code, &status, call->bytes);
    memory += call->bytes;
  }
  return outcome;
}

/// Collective calls one after the other: a view cannot have calls that overlap or go back.
static int transfer_in_turn(struct mpiio_state* state,
                            enum direction direction,
                            MPI_Offset begin,
                            const struct fk_calls* calls,
                            unsigned char* memory) {
  const size_t count = fk_calls_max(state->job, calls);
  int outcome = 0;
  for (size_t i = 0; i < count; ++i) {
    const struct fk_calls one = fk_one_call(calls, i);
    outcome |= transfer_together(state, direction, begin, &one, memory);
    memory += one.bytes;
  }
  return outcome;
}

static int transfer(struct mpiio_state* state,
                    enum direction direction,
                    const struct fk_array* array,
                    const struct fk_calls* calls,
                    void* memory) {
  if (state->file == MPI_FILE_NULL) return -1;
  const MPI_Offset begin = begin_of(state, array);
  if (!state->is_collective) return transfer_each(state, direction, begin, calls, memory);
  return fk_all_ascend(state->job, calls)
             ? transfer_together(state, direction, begin, calls, memory)
             : transfer_in_turn(state, direction, begin, calls, memory);
}

static int mpiio_write(void* raw, const struct fk_array* array, const void* memory) {
  return transfer(raw, kWrite, array, array->calls, (void*)memory);
}

static int mpiio_end(void* raw) { return close_step(raw); }

static int mpiio_begin_read(void* raw, const struct fk_array* arrays, size_t count) {
  (void)count;
  return open_step(raw, arrays, MPI_MODE_RDONLY);
}

static int mpiio_read(void* raw,
                      const struct fk_array* array,
                      const struct fk_calls* calls,
                      void* memory) {
  return transfer(raw, kRead, array, calls, memory);
}

static int mpiio_finish(void* raw) {
  struct mpiio_state* const state = raw;
  MPI_Info_free(&state->hints);
  free(state);
  return 0;
}

const struct fk_backend fk_mpiio = {
    .name = "mpiio",
    .options = "a file for each step: independent (default), collective; hints as NAME=VALUE",
    .accepts = "independent,collective,*=",
    .start = mpiio_start,
    .begin_write = mpiio_begin_write,
    .write = mpiio_write,
    .end_write = mpiio_end,
    .begin_read = mpiio_begin_read,
    .read = mpiio_read,
    .end_read = mpiio_end,
    .finish = mpiio_finish,
};
