// SPDX-License-Identifier: Apache-2.0
// ADIOS 1.13 with MPI_AGGREGATE: each aggregator writes a file, and receives blocks along a chain
// (brigade) or all at once (gather); a set of files for each step. Or its method POSIX: a file for
// each rank.
#include <adios.h>
#include <adios_read.h>
#include <adios_version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

enum { kNameMax = 128 };
static const uint64_t kMebibyte = 1 << 20;

struct adios1_state {
  struct fk_job* job;
  char method[32];
  char parameters[256];
  unsigned run;  // names of groups differ from run to run
  unsigned step;
  int64_t group;
  int64_t* variables[FK_OPERATIONS_MAX];  // by operation: one for each call
  int64_t file;
  ADIOS_FILE* input;
  char path[FK_PATH_MAX];
};

static int check(struct adios1_state* state, int code, const char* operation) {
  return code == 0 ? 0 : fk_fail(state->job, operation, state->path, adios_get_last_errmsg());
}

/// Without striping, which is for Lustre alone.
static void set_method(struct adios1_state* state) {
  const long aggregators = fk_option_number(state->job, "aggregators", 1);
  const long targets = fk_option_number(state->job, "targets", aggregators);
  const int type = fk_has_option(state->job, "gather") ? 1 : 2;
  if (fk_has_option(state->job, "posix")) {
    snprintf(state->method, sizeof state->method, "POSIX");
    return;
  }
  snprintf(state->method, sizeof state->method, "MPI_AGGREGATE");
  snprintf(state->parameters, sizeof state->parameters,
           "num_aggregators=%ld;num_ost=%ld;aggregation_type=%d;striping=0;verbose=1%s",
           aggregators, targets, type,
           fk_has_option(state->job, "threading") ? ";threading=1" : "");
}

static void* adios1_start(struct fk_job* job) {
  static unsigned runs = 0;
  static int initialized = -1;
  struct adios1_state* const state = calloc(1, sizeof *state);
  if (initialized < 0) initialized = adios_init_noxml(MPI_COMM_SELF);
  if (state == NULL || initialized != 0) fk_fail(job, "start", "ADIOS", "no memory");
  if (fk_agree(job) != 0) {
    free(state);
    return NULL;
  }
  state->job = job;
  state->run = runs++;
  MPI_Bcast(&state->run, 1, MPI_UNSIGNED, 0, job->communicator);
  set_method(state);
  return state;
}

/// A variable of the same name for each call: a block of the array.
static int define(struct adios1_state* state, const struct fk_array* array) {
  char local[32], global[32], begin[32];
  const char* const name = state->job->kernel->operations[array->operation].name;
  int64_t* const variables = malloc((array->calls->count + 1) * sizeof *variables);
  free(state->variables[array->operation]);
  state->variables[array->operation] = variables;
  if (variables == NULL) return fk_fail(state->job, "define", state->path, "no memory");
  snprintf(global, sizeof global, "%llu", (unsigned long long)array->starts[state->job->ranks]);
  for (size_t i = 0; i < array->calls->count; ++i) {
    const struct fk_call* const call = &array->calls->calls[i];
    snprintf(local, sizeof local, "%llu", (unsigned long long)call->bytes);
    snprintf(begin, sizeof begin, "%llu", (unsigned long long)call->offset);
    variables[i] =
        adios_define_var(state->group, name, "", adios_unsigned_byte, local, global, begin);
    if (check(state, variables[i] == 0, "define") != 0) return -1;
  }
  return 0;
}

static int adios1_begin_write(void* raw, const struct fk_array* arrays, size_t count) {
  struct adios1_state* const state = raw;
  char group[kNameMax];
  uint64_t bytes = 0, total = 0;
  for (size_t i = 0; i < count; ++i)
    bytes += arrays[i].calls->bytes;
  fk_step_path(state->job, "step", arrays[0].step, ".bp", state->path);
  snprintf(group, sizeof group, "kernel%u.%u", state->run, state->step++);
  adios_set_max_buffer_size(2 * bytes / kMebibyte + 64);
  if (check(state, adios_declare_group(&state->group, group, "", adios_stat_no), "declare") != 0 ||
      check(state, adios_select_method(state->group, state->method, state->parameters, ""),
            "select a method for") != 0)
    return -1;
  for (size_t i = 0; i < count; ++i)
    if (define(state, &arrays[i]) != 0) return -1;
  if (check(state, adios_open(&state->file, group, state->path, "w", state->job->communicator),
            "open") != 0)
    return -1;
  return check(state, adios_group_size(state->file, bytes, &total), "set the size of");
}

static int adios1_write(void* raw, const struct fk_array* array, const void* memory) {
  struct adios1_state* const state = raw;
  const unsigned char* from = memory;
  int code = 0;
  if (state->file == 0) return -1;
  for (size_t i = 0; i < array->calls->count; from += array->calls->calls[i++].bytes)
    code |= adios_write_byid(state->file, state->variables[array->operation][i], from);
  return check(state, code, "write");
}

static int adios1_end_write(void* raw) {
  struct adios1_state* const state = raw;
  const int outcome = state->file == 0 ? -1 : check(state, adios_close(state->file), "close");
  state->file = 0;
  if (state->group != 0) adios_free_group(state->group);
  state->group = 0;
  return outcome;
}

static int adios1_begin_read(void* raw, const struct fk_array* arrays, size_t count) {
  struct adios1_state* const state = raw;
  (void)count;
  fk_step_path(state->job, "step", arrays[0].step, ".bp", state->path);
  state->input = adios_read_open_file(state->path, ADIOS_READ_METHOD_BP, state->job->communicator);
  return check(state, state->input == NULL, "open");
}

static int adios1_read(void* raw,
                       const struct fk_array* array,
                       const struct fk_calls* calls,
                       void* memory) {
  struct adios1_state* const state = raw;
  const char* const name = state->job->kernel->operations[array->operation].name;
  unsigned char* into = memory;
  int code = 0;
  if (state->input == NULL) return -1;
  for (size_t i = 0; i < calls->count && code == 0; ++i) {
    const uint64_t begin = calls->calls[i].offset, bytes = calls->calls[i].bytes;
    ADIOS_SELECTION* const box = adios_selection_boundingbox(1, &begin, &bytes);
    code = adios_schedule_read(state->input, box, name, 0, 1, into);
    if (code == 0) code = adios_perform_reads(state->input, 1);
    adios_selection_delete(box);
    into += bytes;
  }
  return check(state, code, "read");
}

static int adios1_end_read(void* raw) {
  struct adios1_state* const state = raw;
  const int outcome =
      state->input == NULL ? -1 : check(state, adios_read_close(state->input), "close");
  state->input = NULL;
  return outcome;
}

static int adios1_finish(void* raw) {
  struct adios1_state* const state = raw;
  for (size_t i = 0; i < FK_OPERATIONS_MAX; ++i)
    free(state->variables[i]);
  free(state);
  return 0;
}

const struct fk_backend fk_adios1 = {
    .name = "adios1",
    .options = "brigade (default), gather; aggregators=N (1), targets=N; threading; posix",
    .accepts = "brigade,gather,posix,threading,aggregators=,targets=",
    .library = "ADIOS " ADIOS_VERSION,
    .start = adios1_start,
    .begin_write = adios1_begin_write,
    .write = adios1_write,
    .end_write = adios1_end_write,
    .begin_read = adios1_begin_read,
    .read = adios1_read,
    .end_read = adios1_end_read,
    .finish = adios1_finish,
};
