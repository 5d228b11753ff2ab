// SPDX-License-Identifier: Apache-2.0
// A baton over serial HDF5, as PMPIO of Silo passes it: ranks in groups, a file for each group and
// step. The ranks of a group open it, write and close it one after the other. The baton carries
// whether the ranks before could write.
#include <hdf5.h>
#include <stdlib.h>

#include "backend.h"

enum { kBatonTag = 77 };

struct group {
  uint32_t number;
  uint32_t first;  // rank
  uint32_t last;
};

/// The first (ranks mod files) groups have one rank more.
static struct group group_of(uint32_t rank, uint32_t ranks, uint32_t files) {
  uint32_t first = 0;
  for (uint32_t number = 0;; ++number) {
    const uint32_t size = ranks / files + (number < ranks % files ? 1 : 0);
    if (rank < first + size) return (struct group){number, first, first + size - 1};
    first += size;
  }
}

struct pmpio_state {
  struct fk_job* job;
  uint32_t files;
  struct group group;
  int64_t step;
  int baton;
  hid_t file;
  char path[FK_PATH_MAX];
};

static int failed(struct pmpio_state* state, const char* operation) {
  return fk_fail(state->job, operation, state->path, "HDF5 failed; see its message above");
}

static void* pmpio_start(struct fk_job* job) {
  struct pmpio_state* const state = calloc(1, sizeof *state);
  const long files = fk_option_number(job, "files", 1);
  if (state == NULL) fk_fail(job, "start", job->directory, "no memory");
  if (files < 1 || files > (long)job->ranks)
    fk_fail(job, "start", "pmpio", "files must be from 1 to the number of ranks");
  if (fk_agree(job) != 0) {
    free(state);
    return NULL;
  }
  state->job = job;
  state->file = H5I_INVALID_HID;
  state->files = (uint32_t)files;
  state->group = group_of(job->rank, job->ranks, state->files);
  return state;
}

static void set_path(struct pmpio_state* state, int64_t step, uint32_t group) {
  char suffix[32];
  snprintf(suffix, sizeof suffix, ".%u.h5", group);
  fk_step_path(state->job, "step", step, suffix, state->path);
}

static int pmpio_begin_write(void* raw, const struct fk_array* arrays, size_t count) {
  struct pmpio_state* const state = raw;
  const int is_first = state->job->rank == state->group.first;
  (void)count;
  set_path(state, arrays[0].step, state->group.number);
  state->baton = 1;
  if (!is_first)
    MPI_Recv(&state->baton, 1, MPI_INT, (int)state->job->rank - 1, kBatonTag,
             state->job->communicator, MPI_STATUS_IGNORE);
  if (!state->baton) return fk_fail(state->job, "write", state->path, "an earlier rank failed");
  state->file = is_first ? H5Fcreate(state->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                         : H5Fopen(state->path, H5F_ACC_RDWR, H5P_DEFAULT);
  return state->file < 0 ? failed(state, "open") : 0;
}

static void dataset_name(const struct pmpio_state* state,
                         const struct fk_array* array,
                         uint32_t rank,
                         char name[FK_PATH_MAX]) {
  const char* const text = state->job->kernel->operations[array->operation].name;
  snprintf(name, FK_PATH_MAX, "%s.%u", text, rank);
}

static int pmpio_write(void* raw, const struct fk_array* array, const void* memory) {
  struct pmpio_state* const state = raw;
  const hsize_t bytes = array->calls->bytes;
  char name[FK_PATH_MAX];
  if (state->file < 0) return -1;
  dataset_name(state, array, state->job->rank, name);
  const hid_t space = H5Screate_simple(1, &bytes, NULL);
  const hid_t set =
      H5Dcreate2(state->file, name, H5T_NATIVE_UCHAR, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const herr_t written = H5Dwrite(set, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory);
  H5Sclose(space);
  const herr_t closed = H5Dclose(set);
  if (written >= 0 && closed >= 0) return 0;
  state->baton = 0;
  return failed(state, "write");
}

static int close_file(struct pmpio_state* state) {
  const herr_t closed = state->file < 0 ? -1 : H5Fclose(state->file);
  state->file = H5I_INVALID_HID;
  return closed < 0 ? failed(state, "close") : 0;
}

static int pmpio_end_write(void* raw) {
  struct pmpio_state* const state = raw;
  const int outcome = state->file >= 0 ? close_file(state) : -1;
  const int baton = outcome == 0 && state->baton;
  if (state->job->rank != state->group.last)
    MPI_Ssend(&baton, 1, MPI_INT, (int)state->job->rank + 1, kBatonTag, state->job->communicator);
  return outcome;
}

static int pmpio_begin_read(void* raw, const struct fk_array* arrays, size_t count) {
  struct pmpio_state* const state = raw;
  (void)count;
  state->step = arrays[0].step;
  return 0;
}

/// `part` of what a rank has written to its array.
static int read_part(struct pmpio_state* state,
                     const struct fk_array* array,
                     uint32_t rank,
                     struct fk_call part,
                     unsigned char* into) {
  const hsize_t begin = part.offset, bytes = part.bytes;
  char name[FK_PATH_MAX];
  set_path(state, state->step, group_of(rank, state->job->ranks, state->files).number);
  dataset_name(state, array, rank, name);
  const hid_t file = H5Fopen(state->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return failed(state, "open");
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
  const hid_t place = H5Dget_space(set);
  const hid_t memory = H5Screate_simple(1, &bytes, NULL);
  H5Sselect_hyperslab(place, H5S_SELECT_SET, &begin, NULL, &bytes, NULL);
  const herr_t taken = H5Dread(set, H5T_NATIVE_UCHAR, memory, place, H5P_DEFAULT, into);
  H5Sclose(memory);
  H5Sclose(place);
  H5Dclose(set);
  H5Fclose(file);
  return taken < 0 ? failed(state, "read") : 0;
}

static int read_call(struct pmpio_state* state,
                     const struct fk_array* array,
                     const struct fk_call* call,
                     unsigned char* into) {
  struct fk_call part;
  for (uint32_t rank = 0; fk_next_part(array, state->job->ranks, call, &rank, &part); ++rank) {
    const struct fk_call own = {part.offset - array->starts[rank], part.bytes};
    if (read_part(state, array, rank, own, into + (part.offset - call->offset)) != 0) return -1;
  }
  return 0;
}

static int pmpio_read(void* raw,
                      const struct fk_array* array,
                      const struct fk_calls* calls,
                      void* memory) {
  struct pmpio_state* const state = raw;
  unsigned char* into = memory;
  if (state->job->kernel->operations[array->operation].node_count > 0) {
    const struct fk_call own = {0, array->calls->bytes};
    if (calls->count == 0) return 0;
    if (!fk_are_own(array, calls))
      return fk_fail(state->job, "read", "pmpio",
                     "a rank reads only its own part of a strided array");
    return own.bytes == 0 ? 0 : read_part(state, array, state->job->rank, own, into);
  }
  for (size_t i = 0; i < calls->count; into += calls->calls[i++].bytes)
    if (read_call(state, array, &calls->calls[i], into) != 0) return -1;
  return 0;
}

static int pmpio_end_read(void* raw) {
  (void)raw;
  return 0;
}

static int pmpio_finish(void* raw) {
  free(raw);
  return 0;
}

const struct fk_backend fk_pmpio = {
    .name = "pmpio",
    .options = "files=N (default 1) for each step",
    .accepts = "files=",
    .library = "HDF5 " FK_VERSION(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE),
    .start = pmpio_start,
    .begin_write = pmpio_begin_write,
    .write = pmpio_write,
    .end_write = pmpio_end_write,
    .begin_read = pmpio_begin_read,
    .read = pmpio_read,
    .end_read = pmpio_end_read,
    .finish = pmpio_finish,
};
