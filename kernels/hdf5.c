// SPDX-License-Identifier: Apache-2.0
// Parallel HDF5: one file for each step, or one for the run; an HDF5 dataset of bytes for each
// array. A flush syncs the file; without one, a killed run can lose it.
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"

struct hdf5_state {
  struct fk_job* job;
  int is_one_file;
  int is_flushed;
  hid_t access;    // property list of files
  hid_t transfer;  // of calls
  hid_t file;
  char path[FK_PATH_MAX];
};

static int failed(struct hdf5_state* state, const char* operation) {
  return fk_fail(state->job, operation, state->path, "HDF5 failed; see its message above");
}

static void* hdf5_start(struct fk_job* job) {
  struct hdf5_state* const state = calloc(1, sizeof *state);
  if (state == NULL) fk_fail(job, "start", job->directory, "no memory");
  if (fk_agree(job) != 0) {
    free(state);
    return NULL;
  }
  const int is_collective = fk_has_option(job, "collective");
  MPI_Info hints = fk_option_hints(job);
  state->job = job;
  state->is_one_file = fk_has_option(job, "one-file");
  state->is_flushed = fk_has_option(job, "flushed");
  state->access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(state->access, job->communicator, hints);
  H5Pset_libver_bounds(state->access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  state->transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(state->transfer, is_collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
  state->file = H5I_INVALID_HID;
  MPI_Info_free(&hints);
  return state;
}

static int close_file(struct hdf5_state* state) {
  if (state->file < 0) return 0;
  const herr_t closed = H5Fclose(state->file);
  state->file = H5I_INVALID_HID;
  return closed < 0 ? failed(state, "close") : 0;
}

static void dataset_name(const struct hdf5_state* state,
                         const struct fk_array* array,
                         char name[FK_PATH_MAX]) {
  const char* const text = state->job->kernel->operations[array->operation].name;
  snprintf(name, FK_PATH_MAX, "%s.%lld", text, (long long)array->step);
}

static int hdf5_begin_write(void* raw, const struct fk_array* arrays, size_t count) {
  struct hdf5_state* const state = raw;
  (void)count;
  if (state->file >= 0) return 0;
  if (state->is_one_file)
    snprintf(state->path, sizeof state->path, "%s/run.h5", state->job->directory);
  else
    fk_step_path(state->job, "step", arrays[0].step, ".h5", state->path);
  state->file = H5Fcreate(state->path, H5F_ACC_TRUNC, H5P_DEFAULT, state->access);
  return state->file < 0 ? failed(state, "create") : 0;
}

/// The bytes of all calls; none if there are no calls.
static hid_t select_calls(const struct fk_calls* calls, hsize_t bytes) {
  const hid_t space = H5Screate_simple(1, &bytes, NULL);
  if (calls->count == 0) H5Sselect_none(space);
  for (size_t i = 0; i < calls->count; ++i) {
    const hsize_t begin = calls->calls[i].offset;
    const hsize_t size = calls->calls[i].bytes;
    H5Sselect_hyperslab(space, i == 0 ? H5S_SELECT_SET : H5S_SELECT_OR, &begin, NULL, &size, NULL);
  }
  return space;
}

static int hdf5_write(void* raw, const struct fk_array* array, const void* memory) {
  struct hdf5_state* const state = raw;
  const hsize_t bytes = array->starts[state->job->ranks];
  const hsize_t own = array->calls->bytes;
  char name[FK_PATH_MAX];
  if (state->file < 0) return -1;
  dataset_name(state, array, name);
  const hid_t whole = H5Screate_simple(1, &bytes, NULL);
  const hid_t set =
      H5Dcreate2(state->file, name, H5T_NATIVE_UCHAR, whole, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t place = select_calls(array->calls, bytes);
  const hid_t from = H5Screate_simple(1, &own, NULL);
  if (own == 0) H5Sselect_none(from);
  // A collective call for no bytes at all fails in version 1.10.
  const herr_t written =
      bytes == 0 ? 0 : H5Dwrite(set, H5T_NATIVE_UCHAR, from, place, state->transfer, memory);
  H5Sclose(from);
  H5Sclose(place);
  H5Sclose(whole);
  const herr_t closed = H5Dclose(set);
  return written < 0 || closed < 0 ? failed(state, "write") : 0;
}

static int hdf5_end_write(void* raw) {
  struct hdf5_state* const state = raw;
  if (state->file < 0) return -1;
  if (state->is_flushed && H5Fflush(state->file, H5F_SCOPE_GLOBAL) < 0) failed(state, "flush");
  return state->is_one_file ? 0 : close_file(state);
}

static int hdf5_begin_read(void* raw, const struct fk_array* arrays, size_t count) {
  struct hdf5_state* const state = raw;
  (void)count;
  if (state->file >= 0) return 0;  // one file, open for writing
  if (!state->is_one_file) fk_step_path(state->job, "step", arrays[0].step, ".h5", state->path);
  state->file = H5Fopen(state->path, H5F_ACC_RDONLY, state->access);
  return state->file < 0 ? failed(state, "open") : 0;
}

static int read_together(struct hdf5_state* state,
                         hid_t set,
                         hsize_t bytes,
                         const struct fk_calls* calls,
                         unsigned char* memory) {
  const hsize_t own = calls->bytes;
  if (bytes == 0) return 0;
  const hid_t place = select_calls(calls, bytes);
  const hid_t into = H5Screate_simple(1, &own, NULL);
  if (own == 0) H5Sselect_none(into);
  const herr_t taken = H5Dread(set, H5T_NATIVE_UCHAR, into, place, state->transfer, memory);
  H5Sclose(into);
  H5Sclose(place);
  return taken < 0 ? failed(state, "read") : 0;
}

/// A selection has the order of the file, so calls that overlap or go back need one each.
static int read_in_turn(struct hdf5_state* state,
                        hid_t set,
                        hsize_t bytes,
                        const struct fk_calls* calls,
                        unsigned char* memory) {
  const size_t count = fk_calls_max(state->job, calls);
  int outcome = 0;
  for (size_t i = 0; i < count; ++i) {
    const struct fk_calls one = fk_one_call(calls, i);
    outcome |= read_together(state, set, bytes, &one, memory);
    memory += one.bytes;
  }
  return outcome;
}

static int hdf5_read(void* raw,
                     const struct fk_array* array,
                     const struct fk_calls* calls,
                     void* memory) {
  struct hdf5_state* const state = raw;
  char name[FK_PATH_MAX];
  if (state->file < 0) return -1;
  dataset_name(state, array, name);
  const hid_t set = H5Dopen2(state->file, name, H5P_DEFAULT);
  const hsize_t bytes = array->starts[state->job->ranks];
  const int outcome = fk_all_ascend(state->job, calls)
                          ? read_together(state, set, bytes, calls, memory)
                          : read_in_turn(state, set, bytes, calls, memory);
  H5Dclose(set);
  return outcome;
}

static int hdf5_end_read(void* raw) {
  struct hdf5_state* const state = raw;
  return state->is_one_file ? 0 : close_file(state);
}

/// Closing writes what HDF5 still has in memory.
static int hdf5_make_durable(void* raw) {
  struct hdf5_state* const state = raw;
  return state->is_one_file && state->file >= 0 && H5Fflush(state->file, H5F_SCOPE_GLOBAL) < 0
             ? failed(state, "flush")
             : 0;
}

static int hdf5_finish(void* raw) {
  struct hdf5_state* const state = raw;
  const int outcome = close_file(state);
  H5Pclose(state->transfer);
  H5Pclose(state->access);
  free(state);
  return outcome;
}

const struct fk_backend fk_hdf5 = {
    .name = "hdf5",
    .options = "independent (default), collective; flushed; one-file; hints as NAME=VALUE",
    .accepts = "independent,collective,flushed,one-file,*=",
    .library = "HDF5 " FK_VERSION(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE),
    .start = hdf5_start,
    .begin_write = hdf5_begin_write,
    .write = hdf5_write,
    .end_write = hdf5_end_write,
    .begin_read = hdf5_begin_read,
    .read = hdf5_read,
    .end_read = hdf5_end_read,
    .make_durable = hdf5_make_durable,
    .finish = hdf5_finish,
};
