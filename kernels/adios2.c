// SPDX-License-Identifier: Apache-2.0
// ADIOS2 with the engine BP5: a step of the kernel is a step of one stream for each group of
// arrays. All other options are parameters of the engine, such as NumAggregators=2 or
// AsyncWrite=On. A build of ADIOS2 without MPI has one rank.
#include <adios2_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

struct adios2_state {
  struct fk_job* job;
  adios2_adios* adios;
  adios2_io* outputs[FK_OPERATIONS_MAX];  // by group
  adios2_engine* engines[FK_OPERATIONS_MAX];
  int64_t* steps[FK_OPERATIONS_MAX];  // of the kernel, by operation: those that it has written
  size_t counts[FK_OPERATIONS_MAX];
  adios2_io* input;
  adios2_engine* reader;
  unsigned opened;
  char path[FK_PATH_MAX];
};

static int check(struct adios2_state* state, int failed, const char* operation) {
  return failed
             ? fk_fail(state->job, operation, state->path, "ADIOS2 failed; see its message above")
             : 0;
}

static void* start(struct fk_job* job) {
  struct adios2_state* const state = calloc(1, sizeof *state);
  if (state == NULL) fk_fail(job, "start", job->directory, "no memory");
#if ADIOS2_USE_MPI
  if (state != NULL) state->adios = adios2_init_mpi(job->communicator);
#else
  if (job->ranks > 1) fk_fail(job, "start", "adios2", "this build of ADIOS2 has no MPI: one rank");
  if (state != NULL) state->adios = adios2_init_serial();
#endif
  if (state != NULL && state->adios == NULL) fk_fail(job, "start", "adios2", "it failed");
  if (fk_agree(job) == 0) {
    state->job = job;
    return state;
  }
  if (state != NULL && state->adios != NULL) adios2_finalize(state->adios);
  free(state);
  return NULL;
}

static void set_parameters(struct adios2_state* state, adios2_io* io) {
  adios2_set_engine(io, "BP5");
  char name[FK_OPTION_MAX], value[FK_OPTION_MAX];
  for (const char* rest = state->job->options; fk_next_assignment(&rest, name, value);)
    adios2_set_parameter(io, name, value);
}

static void set_path(struct adios2_state* state) {
  snprintf(state->path, sizeof state->path, "%s/group-%u.bp", state->job->directory,
           state->job->group);
}

/// Of all writes of the group. Appends to a stream that was closed to be read.
static int open_output(struct adios2_state* state) {
  const struct fk_kernel* const kernel = state->job->kernel;
  const uint32_t group = state->job->group;
  if (state->outputs[group] != NULL) {
    state->engines[group] = adios2_open(state->outputs[group], state->path, adios2_mode_append);
    return check(state, state->engines[group] == NULL, "open");
  }
  char name[64];
  snprintf(name, sizeof name, "output-%u", group);
  adios2_io* const io = adios2_declare_io(state->adios, name);
  if (check(state, io == NULL, "declare") != 0) return -1;
  set_parameters(state, io);
  for (uint32_t i = group; i < kernel->operation_count && kernel->operations[i].what == FK_WRITE;
       ++i) {
    const size_t zero = 0, one = 1;
    if (check(state,
              adios2_define_variable(io, kernel->operations[i].name, adios2_type_uint8_t, 1, &one,
                                     &zero, &one, adios2_constant_dims_false) == NULL,
              "define") != 0)
      return -1;
  }
  state->outputs[group] = io;
  state->engines[group] = adios2_open(io, state->path, adios2_mode_write);
  return check(state, state->engines[group] == NULL, "open");
}

static int begin_write(void* raw, const struct fk_array* arrays, size_t count) {
  struct adios2_state* const state = raw;
  const uint32_t group = state->job->group;
  adios2_step_status status;
  (void)count;
  set_path(state);
  if (state->engines[group] == NULL && open_output(state) != 0) return -1;
  (void)arrays;
  return check(state,
               adios2_begin_step(state->engines[group], adios2_step_mode_append, -1.0F, &status) !=
                   adios2_error_none,
               "begin a step of");
}

/// The steps of a variable have the numbers 0, 1 ... in the order in which they were written.
static int add_step(struct adios2_state* state, const struct fk_array* array) {
  int64_t** const steps = &state->steps[array->operation];
  if (*steps == NULL) *steps = calloc((size_t)state->job->kernel->steps + 1, sizeof **steps);
  if (*steps == NULL) return fk_fail(state->job, "write", state->path, "no memory");
  (*steps)[state->counts[array->operation]++] = array->step;
  return 0;
}

static size_t number_of_step(const struct adios2_state* state, const struct fk_array* array) {
  const int64_t* const steps = state->steps[array->operation];
  size_t number = 0;
  while (number + 1 < state->counts[array->operation] && steps[number] != array->step)
    ++number;
  return number;
}

static int write_calls(void* raw, const struct fk_array* array, const void* memory) {
  struct adios2_state* const state = raw;
  const uint32_t group = state->job->group;
  const char* const name = state->job->kernel->operations[array->operation].name;
  const unsigned char* from = memory;
  if (state->engines[group] == NULL || add_step(state, array) != 0) return -1;
  adios2_variable* const variable = adios2_inquire_variable(state->outputs[group], name);
  const size_t shape = array->starts[state->job->ranks];
  int failed = variable == NULL || adios2_set_shape(variable, 1, &shape) != adios2_error_none;
  for (size_t i = 0; i < array->calls->count && !failed; from += array->calls->calls[i++].bytes) {
    const size_t begin = array->calls->calls[i].offset, bytes = array->calls->calls[i].bytes;
    failed = adios2_set_selection(variable, 1, &begin, &bytes) != adios2_error_none ||
             adios2_put(state->engines[group], variable, from, adios2_mode_deferred) !=
                 adios2_error_none;
  }
  return check(state, failed, "write");
}

static int end_write(void* raw) {
  struct adios2_state* const state = raw;
  adios2_engine* const engine = state->engines[state->job->group];
  if (engine == NULL) return -1;
  return check(state, adios2_end_step(engine) != adios2_error_none, "end a step of");
}

/// Streams are read when they are complete.
static int close_outputs(struct adios2_state* state) {
  int outcome = 0;
  for (size_t group = 0; group < FK_OPERATIONS_MAX; ++group) {
    if (state->engines[group] == NULL) continue;
    outcome |= check(state, adios2_close(state->engines[group]) != adios2_error_none, "close");
    state->engines[group] = NULL;
  }
  return outcome;
}

static int begin_read(void* raw, const struct fk_array* arrays, size_t count) {
  struct adios2_state* const state = raw;
  char name[64];
  (void)count;
  set_path(state);
  if (close_outputs(state) != 0) return -1;
  (void)arrays;
  snprintf(name, sizeof name, "input-%u", state->opened++);
  state->input = adios2_declare_io(state->adios, name);
  adios2_set_engine(state->input, "BP5");
  state->reader = adios2_open(state->input, state->path, adios2_mode_readRandomAccess);
  return check(state, state->reader == NULL, "open");
}

static int read_calls(void* raw,
                      const struct fk_array* array,
                      const struct fk_calls* calls,
                      void* memory) {
  struct adios2_state* const state = raw;
  const char* const name = state->job->kernel->operations[array->operation].name;
  unsigned char* into = memory;
  if (state->reader == NULL) return -1;
  adios2_variable* const variable = adios2_inquire_variable(state->input, name);
  int failed = variable == NULL || adios2_set_step_selection(variable, number_of_step(state, array),
                                                             1) != adios2_error_none;
  for (size_t i = 0; i < calls->count && !failed; into += calls->calls[i++].bytes) {
    const size_t begin = calls->calls[i].offset, bytes = calls->calls[i].bytes;
    failed = adios2_set_selection(variable, 1, &begin, &bytes) != adios2_error_none ||
             adios2_get(state->reader, variable, into, adios2_mode_sync) != adios2_error_none;
  }
  return check(state, failed, "read");
}

static int end_read(void* raw) {
  struct adios2_state* const state = raw;
  if (state->reader == NULL) return -1;
  const int outcome = check(state, adios2_close(state->reader) != adios2_error_none, "close");
  state->reader = NULL;
  return outcome;
}

static int make_durable(void* raw) { return close_outputs(raw); }

static int finish(void* raw) {
  struct adios2_state* const state = raw;
  const int outcome = close_outputs(state);
  for (size_t group = 0; group < FK_OPERATIONS_MAX; ++group)
    free(state->steps[group]);
  adios2_finalize(state->adios);
  free(state);
  return outcome;
}

const struct fk_backend fk_adios2 = {
    .name = "adios2",
    .options = "engine BP5, a stream for all steps; parameters of the engine as NAME=VALUE",
    .accepts = "*=",
    .library = "ADIOS2 " ADIOS2_VERSION_STR,
    .start = start,
    .begin_write = begin_write,
    .write = write_calls,
    .end_write = end_write,
    .begin_read = begin_read,
    .read = read_calls,
    .end_read = end_read,
    .make_durable = make_durable,
    .finish = finish,
};
