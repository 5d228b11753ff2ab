// SPDX-License-Identifier: Apache-2.0
// PnetCDF: a file in the format CDF-5 for each step, a variable of bytes for each array, written
// and read collectively.
#include <pnetcdf.h>
#include <stdlib.h>

#include "backend.h"

struct pnetcdf_state {
  struct fk_job* job;
  MPI_Info hints;
  int file;                          // -1: none
  int variables[FK_OPERATIONS_MAX];  // of the arrays of the step, by operation
  char path[FK_PATH_MAX];
};

static int check(struct pnetcdf_state* state, int code, const char* operation) {
  return code == NC_NOERR ? 0 : fk_fail(state->job, operation, state->path, ncmpi_strerror(code));
}

static void* pnetcdf_start(struct fk_job* job) {
  struct pnetcdf_state* const state = calloc(1, sizeof *state);
  if (state == NULL) fk_fail(job, "start", job->directory, "no memory");
  if (fk_agree(job) != 0) {
    free(state);
    return NULL;
  }
  state->job = job;
  state->hints = fk_option_hints(job);
  state->file = -1;
  return state;
}

static const char* name_of(const struct pnetcdf_state* state, const struct fk_array* array) {
  return state->job->kernel->operations[array->operation].name;
}

static int pnetcdf_begin_write(void* raw, const struct fk_array* arrays, size_t count) {
  struct pnetcdf_state* const state = raw;
  const int mode = NC_CLOBBER | NC_64BIT_DATA;
  fk_step_path(state->job, "step", arrays[0].step, ".nc", state->path);
  int code = ncmpi_create(state->job->communicator, state->path, mode, state->hints, &state->file);
  if (check(state, code, "create") != 0) {
    state->file = -1;
    return -1;
  }
  for (size_t i = 0; i < count && code == NC_NOERR; ++i) {
    int dimension = 0;
    code = ncmpi_def_dim(state->file, name_of(state, &arrays[i]),
                         (MPI_Offset)arrays[i].starts[state->job->ranks], &dimension);
    if (code == NC_NOERR)
      code = ncmpi_def_var(state->file, name_of(state, &arrays[i]), NC_UBYTE, 1, &dimension,
                           &state->variables[arrays[i].operation]);
  }
  const int ended = ncmpi_enddef(state->file);
  return check(state, code == NC_NOERR ? ended : code, "define");
}

/// Begins and counts of all calls, in two arrays that the caller frees.
static int list_calls(struct pnetcdf_state* state,
                      const struct fk_calls* calls,
                      MPI_Offset*** begins,
                      MPI_Offset*** counts) {
  const size_t count = calls->count + 1;
  *begins = malloc(count * sizeof **begins);
  *counts = malloc(count * sizeof **counts);
  MPI_Offset* const numbers = malloc(2 * count * sizeof *numbers);
  if (*begins == NULL || *counts == NULL || numbers == NULL) {
    free(numbers);
    return fk_fail(state->job, "list the calls of", state->path, "no memory");
  }
  for (size_t i = 0; i < count; ++i) {
    (*begins)[i] = &numbers[2 * i];
    (*counts)[i] = &numbers[2 * i + 1];
    if (i < calls->count) {
      numbers[2 * i] = (MPI_Offset)calls->calls[i].offset;
      numbers[2 * i + 1] = (MPI_Offset)calls->calls[i].bytes;
    }
  }
  return 0;
}

static void free_list(MPI_Offset** begins, MPI_Offset** counts) {
  if (begins != NULL) free(begins[0]);
  free(begins);
  free(counts);
}

static int pnetcdf_write(void* raw, const struct fk_array* array, const void* memory) {
  struct pnetcdf_state* const state = raw;
  MPI_Offset **begins = NULL, **counts = NULL;
  if (state->file < 0) return -1;
  if (list_calls(state, array->calls, &begins, &counts) != 0) return -1;
  const int code = ncmpi_put_varn_uchar_all(state->file, state->variables[array->operation],
                                            (int)array->calls->count, begins, counts, memory);
  free_list(begins, counts);
  return check(state, code, "write");
}

static int pnetcdf_end(void* raw) {
  struct pnetcdf_state* const state = raw;
  if (state->file < 0) return -1;
  const int code = ncmpi_close(state->file);
  state->file = -1;
  return check(state, code, "close");
}

static int pnetcdf_begin_read(void* raw, const struct fk_array* arrays, size_t count) {
  struct pnetcdf_state* const state = raw;
  (void)count;
  fk_step_path(state->job, "step", arrays[0].step, ".nc", state->path);
  const int code =
      ncmpi_open(state->job->communicator, state->path, NC_NOWRITE, state->hints, &state->file);
  if (code != NC_NOERR) state->file = -1;
  return check(state, code, "open");
}

static int pnetcdf_read(void* raw,
                        const struct fk_array* array,
                        const struct fk_calls* calls,
                        void* memory) {
  struct pnetcdf_state* const state = raw;
  MPI_Offset **begins = NULL, **counts = NULL;
  int variable = 0;
  if (state->file < 0) return -1;
  if (list_calls(state, calls, &begins, &counts) != 0) return -1;
  int code = ncmpi_inq_varid(state->file, name_of(state, array), &variable);
  if (code == NC_NOERR)
    code =
        ncmpi_get_varn_uchar_all(state->file, variable, (int)calls->count, begins, counts, memory);
  free_list(begins, counts);
  return check(state, code, "read");
}

static int pnetcdf_finish(void* raw) {
  struct pnetcdf_state* const state = raw;
  MPI_Info_free(&state->hints);
  free(state);
  return 0;
}

const struct fk_backend fk_pnetcdf = {
    .name = "pnetcdf",
    .options = "a file for each step; hints as NAME=VALUE",
    .accepts = "*=",
    .library = "PnetCDF " PNETCDF_VERSION,
    .start = pnetcdf_start,
    .begin_write = pnetcdf_begin_write,
    .write = pnetcdf_write,
    .end_write = pnetcdf_end,
    .begin_read = pnetcdf_begin_read,
    .read = pnetcdf_read,
    .end_read = pnetcdf_end,
    .finish = pnetcdf_finish,
};
