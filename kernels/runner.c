// SPDX-License-Identifier: Apache-2.0
// The application around a backend: it computes, makes the content of a step, writes and reads it,
// and verifies the bytes.
#define _GNU_SOURCE
#include "runner.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compute.h"
#include "run_files.h"

/// The content of the block that an operation has in memory.
struct block {
  unsigned char* memory;  // own, of `capacity` bytes
  uint64_t capacity;
  int64_t filled_step;  // of the content in `memory`; -2: none
  uint64_t filled_bytes;
  uint64_t filled_offset;
};

struct run {
  const struct fk_backend* backend;
  struct fk_job* job;
  const struct fk_settings* settings;
  void* state;
  struct block blocks[FK_OPERATIONS_MAX];
  float* seconds;        // [step][phase] of this rank
  uint64_t* step_bytes;  // [step]
  struct fk_computation computation;
  double fill_s;
  double paused_s;  // outside the clock: planning, verifying, and dropping caches
  double synced_s;  // outside the time of the application only: syncs before cold reads
  uint64_t written_bytes;
  uint64_t read_bytes;
  uint64_t verified_bytes;  // after the run
};

/// The arrays of one step that are written or read together.
struct group {
  uint32_t first;  // operation
  size_t count;
  struct fk_array arrays[FK_OPERATIONS_MAX];
  struct fk_calls own[FK_OPERATIONS_MAX];  // what this rank wrote
  uint64_t* starts[FK_OPERATIONS_MAX];
};

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void add_seconds(struct run* run, int64_t step, enum fk_phase phase, double seconds) {
  if (step < 0) return;
  const int64_t last = (int64_t)run->job->kernel->steps - 1;
  run->seconds[(step > last ? last : step) * FK_PHASES + phase] += (float)seconds;
}

static void compute(struct run* run, int64_t step) {
  const double begin = now_s();
  const double seconds = fk_compute_seconds(run->job->kernel, run->job->rank, (uint32_t)step);
  fk_do_computation(&run->computation, seconds * run->settings->compute_scale);
  add_seconds(run, step, FK_PHASE_COMPUTE, now_s() - begin);
}

static int reserve(struct run* run, uint32_t operation, uint64_t bytes) {
  struct block* const block = &run->blocks[operation];
  if (bytes <= block->capacity && block->memory != NULL) return 0;
  free(block->memory);
  block->memory = fk_make_memory(bytes);
  block->capacity = bytes;
  block->filled_step = -2;
  return block->memory != NULL ? 0 : fk_fail(run->job, "allocate", "memory of a step", "no memory");
}

static int fail_plan(struct run* run, uint32_t operation) {
  return fk_fail(run->job, "plan", run->job->kernel->operations[operation].name,
                 "no memory, or a call exceeds a limit of docs/formats/kernel.md");
}

static void free_group(struct group* group) {
  for (size_t i = 0; i < group->count; ++i) {
    fk_free_calls(&group->own[i]);
    free(group->starts[i]);
  }
  group->count = 0;
}

static int add_array(struct run* run, struct group* group, uint32_t operation, int64_t step) {
  const struct fk_kernel* const kernel = run->job->kernel;
  const size_t i = group->count;
  uint64_t* const starts = malloc(((size_t)kernel->writers + 1) * sizeof *starts);
  if (starts == NULL) return fail_plan(run, operation);
  group->own[i] = (struct fk_calls){0};
  group->starts[i] = starts;
  ++group->count;
  if (fk_layout(kernel, operation, step, starts) != 0 ||
      fk_make_calls(kernel, operation, run->job->rank, step, &group->own[i]) != 0)
    return fail_plan(run, operation);
  for (size_t call = 0; call < group->own[i].count; ++call)
    group->own[i].calls[call].offset += starts[run->job->rank];
  group->arrays[i] = (struct fk_array){operation, step, starts, &group->own[i]};
  return 0;
}

static int is_write(const struct fk_kernel* kernel, uint32_t operation) {
  return operation < kernel->operation_count && kernel->operations[operation].what == FK_WRITE;
}

/// The arrays of a step that the writes around `operation` make together. Outside the clock.
static int make_group(struct run* run, struct group* group, uint32_t operation, int64_t step) {
  const struct fk_kernel* const kernel = run->job->kernel;
  const double begin = now_s();
  int outcome = 0;
  *group = (struct group){.first = operation};
  while (group->first > 0 && is_write(kernel, group->first - 1))
    --group->first;
  for (uint32_t i = group->first; is_write(kernel, i); ++i)
    if (fk_is_due(kernel, &kernel->operations[i], step)) outcome |= add_array(run, group, i, step);
  run->paused_s += now_s() - begin;
  return outcome;
}

/// An operation without offsets has contiguous bytes of its array.
static void make_content(struct run* run, const struct fk_array* array, unsigned char* memory) {
  struct block* const block = &run->blocks[array->operation];
  const struct fk_calls* const calls = array->calls;
  const int is_listed = run->job->kernel->operations[array->operation].node_count > 0;
  const double begin = now_s();
  if (calls->count == 0) return;
  const uint64_t offset = calls->calls[0].offset;
  if (is_listed) {
    uint64_t done = 0;
    for (size_t i = 0; i < calls->count; done += calls->calls[i++].bytes)
      fk_fill(memory + done, calls->calls[i].bytes, array->operation, array->step,
              calls->calls[i].offset);
  } else if (memory == block->memory && block->filled_step > -2 && block->filled_offset == offset &&
             block->filled_bytes >= calls->bytes) {
    fk_restamp(memory, calls->bytes, array->operation, array->step, offset);
  } else {
    fk_fill(memory, calls->bytes, array->operation, array->step, offset);
    block->filled_bytes = calls->bytes;
  }
  if (memory == block->memory && !is_listed) {
    block->filled_step = array->step;
    block->filled_offset = offset;
  }
  const double seconds = now_s() - begin;
  run->fill_s += array->step >= 0 ? seconds : 0;
  add_seconds(run, array->step, FK_PHASE_COMPUTE, seconds);
}

static int write_group(struct run* run, struct group* group) {
  const struct fk_backend* const backend = run->backend;
  const int64_t step = group->arrays[0].step;
  run->job->group = group->first;
  double begin = now_s();
  int outcome = backend->begin_write(run->state, group->arrays, group->count);
  add_seconds(run, step, FK_PHASE_OPEN, now_s() - begin);
  for (size_t i = 0; i < group->count; ++i) {
    const struct fk_array* const array = &group->arrays[i];
    void* memory = run->blocks[array->operation].memory;
    begin = now_s();
    if (backend->memory != NULL) memory = backend->memory(run->state, array, memory);
    add_seconds(run, step, FK_PHASE_WRITE, now_s() - begin);
    make_content(run, array, memory);
    begin = now_s();
    outcome |= backend->write(run->state, array, memory);
    add_seconds(run, step, FK_PHASE_WRITE, now_s() - begin);
    if (step < 0) continue;
    run->written_bytes += array->calls->bytes;
    run->step_bytes[step] += array->calls->bytes;
  }
  begin = now_s();
  outcome |= backend->end_write(run->state);
  add_seconds(run, step, FK_PHASE_CLOSE, now_s() - begin);
  return outcome;
}

/// With a size, ranks that take part read equal shares of the array; else what they wrote.
static int plan_read(struct run* run,
                     const struct fk_array* array,
                     uint32_t reader,
                     int64_t step,
                     struct fk_calls* calls) {
  const struct fk_kernel* const kernel = run->job->kernel;
  const struct fk_operation* const what = &kernel->operations[reader];
  if (what->what == FK_WRITE || (!what->has_size && what->node_count == 0)) {
    const struct fk_calls* const own = array->calls;
    *calls = *own;
    calls->calls = malloc((own->count + 1) * sizeof *calls->calls);
    if (calls->calls == NULL) return fail_plan(run, reader);
    memcpy(calls->calls, own->calls, own->count * sizeof *own->calls);
    return 0;
  }
  const uint64_t bytes = array->starts[kernel->writers];
  const int outcome = fk_make_read_calls(kernel, reader, run->job->rank, step, bytes, calls);
  return outcome == 0 ? 0 : fail_plan(run, reader);
}

/// The largest step of an operation in bytes, into `largest`. All its calls are planned, so that a
/// step of the run finds no error.
static int plan_write_steps(struct run* run, uint32_t operation, uint64_t* largest) {
  const struct fk_kernel* const kernel = run->job->kernel;
  const struct fk_operation* const what = &kernel->operations[operation];
  struct fk_calls calls = {0};
  int outcome = 0;
  for (int64_t step = -1; step < kernel->steps && outcome == 0; ++step) {
    if (!fk_is_due(kernel, what, step)) continue;
    if (fk_make_calls(kernel, operation, run->job->rank, step, &calls) != 0)
      outcome = fail_plan(run, operation);
    else if (!fk_ascend(&calls))
      outcome = fk_fail(run->job, "plan", what->name, "offsets of a write must ascend in a rank");
    if (calls.bytes > *largest) *largest = calls.bytes;
  }
  fk_free_calls(&calls);
  return outcome;
}

static int plan_read_steps(struct run* run, uint32_t operation, uint64_t* largest) {
  const struct fk_kernel* const kernel = run->job->kernel;
  const struct fk_operation* const what = &kernel->operations[operation];
  int outcome = 0;
  for (int64_t step = -1; step < kernel->steps && outcome == 0; ++step) {
    const int is_due = fk_is_due(kernel, what, step);
    const int64_t source = is_due ? fk_step_of_data(kernel, operation, step) : -2;
    struct group group = {.first = what->from};
    struct fk_calls calls = {0};
    if (source < -1) continue;
    outcome = add_array(run, &group, what->from, source);
    if (outcome == 0) outcome = plan_read(run, &group.arrays[0], operation, step, &calls);
    if (calls.bytes > *largest) *largest = calls.bytes;
    fk_free_calls(&calls);
    free_group(&group);
  }
  return outcome;
}

/// Memory for the largest step of each operation, so that no step allocates.
static int reserve_all(struct run* run) {
  const struct fk_kernel* const kernel = run->job->kernel;
  int outcome = 0;
  for (uint32_t i = 0; i < kernel->operation_count && outcome == 0; ++i) {
    uint64_t largest = 0;
    outcome = is_write(kernel, i) ? plan_write_steps(run, i, &largest)
                                  : plan_read_steps(run, i, &largest);
    if (outcome == 0) outcome = reserve(run, i, largest);
  }
  return outcome;
}

static int verify(struct run* run,
                  const struct fk_array* array,
                  const struct fk_calls* calls,
                  const unsigned char* memory) {
  for (size_t i = 0; i < calls->count; memory += calls->calls[i++].bytes) {
    const struct fk_call* const call = &calls->calls[i];
    const uint64_t wrong =
        fk_first_mismatch(memory, call->bytes, array->operation, array->step, call->offset);
    if (wrong < call->bytes) {
      char cause[128];
      snprintf(cause, sizeof cause, "wrong byte at offset %llu of step %lld",
               (unsigned long long)(call->offset + wrong), (long long)array->step);
      return fk_fail(run->job, "verify", run->job->kernel->operations[array->operation].name,
                     cause);
    }
  }
  return 0;
}

enum clock { kTimed, kNotTimed };

/// A rank whose plan fails takes part without calls, as reading is collective.
static int read_array(struct run* run,
                      const struct fk_array* array,
                      uint32_t reader,
                      int64_t step,
                      enum clock clock) {
  struct fk_calls calls = {0};
  unsigned char* const memory = run->blocks[reader].memory;
  const double planned = now_s();
  int outcome = plan_read(run, array, reader, step, &calls);
  if (outcome != 0) calls.count = calls.bytes = 0;
  memset(memory, 0, calls.bytes);  // a read that is short must not find what was there before
  const double begin = now_s();
  outcome |= run->backend->read(run->state, array, &calls, memory);
  const double end = now_s();
  if (clock == kTimed) {
    add_seconds(run, step, FK_PHASE_READ, end - begin);
    run->read_bytes += calls.bytes;
    run->step_bytes[step] += calls.bytes;
  }
  run->blocks[reader].filled_step = -2;
  if (outcome == 0) outcome = verify(run, array, &calls, memory);
  if (outcome == 0 && clock == kNotTimed) run->verified_bytes += calls.bytes;
  run->paused_s += begin - planned + now_s() - end;
  fk_free_calls(&calls);
  return outcome;
}

/// Reads and verifies the array that `reader` reads in `step`; if it is a write, all arrays.
static int read_group(
    struct run* run, const struct group* group, uint32_t reader, int64_t step, enum clock clock) {
  const struct fk_backend* const backend = run->backend;
  const struct fk_operation* const what = &run->job->kernel->operations[reader];
  run->job->group = group->first;
  double begin = now_s();
  int outcome = backend->begin_read(run->state, group->arrays, group->count);
  if (clock == kTimed) add_seconds(run, step, FK_PHASE_READ, now_s() - begin);
  for (size_t i = 0; i < group->count; ++i) {
    const struct fk_array* const array = &group->arrays[i];
    if (what->what == FK_READ && array->operation != what->from) continue;
    const uint32_t by = what->what == FK_READ ? reader : array->operation;
    outcome |= read_array(run, array, by, step, clock);
  }
  begin = now_s();
  outcome |= backend->end_read(run->state);
  if (clock == kTimed) add_seconds(run, step, FK_PHASE_READ, now_s() - begin);
  return outcome;
}

/// Data can leave the page cache only after it was synced, which counts until it is durable.
static void drop_caches(struct run* run) {
  const double begin = now_s();
  if (run->backend->make_durable != NULL) run->backend->make_durable(run->state);
  fk_sync_files(run->job);
  run->synced_s += now_s() - begin;
  const double synced = now_s();
  fk_drop_files(run->job);
  run->paused_s += now_s() - synced;
}

static void observe_reads(struct run* run, enum fk_moment moment) {
  const double begin = now_s();
  if (run->settings->on_reads == NULL) return;
  fk_wait_for_all(run->job);
  if (run->job->rank == 0) run->settings->on_reads(run->settings->observer, moment);
  fk_wait_for_all(run->job);
  run->paused_s += now_s() - begin;
}

static int read_step(struct run* run, uint32_t operation, int64_t step) {
  const struct fk_kernel* const kernel = run->job->kernel;
  const int64_t source = fk_step_of_data(kernel, operation, step);
  struct group group = {0};
  if (source < -1) return 0;  // nothing was written yet
  if (run->backend->begin_read == NULL)
    return fk_fail(run->job, "read", run->backend->name, "this backend cannot read");
  int outcome = make_group(run, &group, kernel->operations[operation].from, source);
  if (run->settings->cache == FK_COLD) drop_caches(run);
  const double begin = now_s();
  const int agreed = fk_agree(run->job);  // all ranks have written
  run->paused_s += now_s() - begin;
  if (agreed == 0) {
    observe_reads(run, FK_READS_BEGIN);
    outcome |= read_group(run, &group, operation, step, kTimed);
    observe_reads(run, FK_READS_END);
  }
  free_group(&group);
  return agreed == 0 ? outcome : -1;
}

static int do_step(struct run* run, int64_t step) {
  const struct fk_kernel* const kernel = run->job->kernel;
  int outcome = 0;
  for (uint32_t i = 0; i < kernel->operation_count; ++i) {
    if (is_write(kernel, i)) {
      struct group group = {0};
      const int planned = make_group(run, &group, i, step);
      if (group.count > 0 && planned == 0) outcome |= write_group(run, &group);
      outcome |= planned;
      free_group(&group);
      while (is_write(kernel, i + 1))
        ++i;
    } else if (fk_is_due(kernel, &kernel->operations[i], step)) {
      outcome |= read_step(run, i, step);
    }
  }
  return outcome;
}

/// The last step in which a write is due; -2: in none.
static int64_t newest_step(const struct fk_kernel* kernel, uint32_t operation) {
  int64_t step = (int64_t)kernel->steps - 1;
  while (step >= -1 && !fk_is_due(kernel, &kernel->operations[operation], step))
    --step;
  return step;
}

/// Reads the arrays of the writes from `first` on. All ranks make the same calls, so they agree
/// before each group.
static int verify_group(struct run* run, uint32_t first, int64_t step) {
  struct group group = {0};
  make_group(run, &group, first, step);
  int outcome = fk_agree(run->job);
  if (group.count > 0 && outcome == 0) outcome = read_group(run, &group, first, step, kNotTimed);
  free_group(&group);
  return outcome;
}

/// Reads what this rank has written in the last steps, and the newest array of each write; not an
/// input that was kept, which the run that wrote it has verified.
static int verify_written(struct run* run) {
  const struct fk_kernel* const kernel = run->job->kernel;
  const int64_t count = run->settings->verify_steps;
  const int64_t from = count < 0 ? -1 : (int64_t)kernel->steps - count;
  const int64_t first_written = run->settings->input == FK_KEPT ? 0 : -1;
  int outcome = 0;
  if (run->backend->begin_read == NULL) return 0;
  for (uint32_t i = 0; i < kernel->operation_count; ++i) {
    const uint32_t first = i;
    if (!is_write(kernel, i)) continue;
    while (is_write(kernel, i + 1))
      ++i;
    for (int64_t step = first_written; step < kernel->steps; ++step) {
      int is_verified = step >= from;
      for (uint32_t one = first; one <= i; ++one)
        is_verified |= step == newest_step(kernel, one);
      if (is_verified) outcome |= verify_group(run, first, step);
    }
  }
  return outcome;
}

/// From the first open until the application has ended; returns seconds.
static double run_application(struct run* run) {
  const int64_t steps = run->job->kernel->steps;
  const double begin = now_s();
  run->paused_s = run->synced_s = 0;
  for (int64_t step = 0; step < steps; ++step) {
    compute(run, step);
    do_step(run, step);
  }
  compute(run, steps);
  return now_s() - begin - run->paused_s - run->synced_s;
}

static void measure(struct run* run, struct fk_result* result) {
  struct fk_job* const job = run->job;
  struct fk_report report = {0};
  MPI_Barrier(job->communicator);
  double begin = now_s();
  run->state = run->backend->start(job);
  const double start_s = now_s() - begin;
  if (run->state == NULL) return;
  if (run->settings->input == FK_WRITTEN) do_step(run, -1);
  if (run->backend->make_durable != NULL) run->backend->make_durable(run->state);
  fk_begin_memory_peak();
  MPI_Barrier(job->communicator);
  add_seconds(run, 0, FK_PHASE_OPEN, start_s);
  begin = now_s();
  const double application_s = run_application(run);
  if (run->backend->make_durable != NULL) run->backend->make_durable(run->state);
  const uint64_t growth = fk_memory_growth_bytes();
  fk_sync_files(job);
  const double durable_s = now_s() - begin - run->paused_s;
  if (run->backend->report != NULL) run->backend->report(run->state, &report);
  if (fk_agree(job) == 0) verify_written(run);
  run->backend->finish(run->state);
  fk_reduce(job,
            (struct fk_own){application_s + start_s, durable_s + start_s, run->fill_s, growth,
                            report.staging_bytes, report.planned_bytes, run->written_bytes,
                            run->read_bytes, run->verified_bytes},
            run->seconds, run->step_bytes, result);
  memcpy(result->plan, report.plan, sizeof result->plan);
}

void fk_run(const struct fk_backend* backend,
            struct fk_job* job,
            const struct fk_settings* settings,
            struct fk_result* result) {
  const uint32_t steps = job->kernel->steps;
  struct run run = {.backend = backend, .job = job, .settings = settings};
  *result = (struct fk_result){.ranks = job->ranks, .steps = steps};
  job->error[0] = '\0';
  fk_find_node(job);
  run.seconds = calloc((size_t)steps * FK_PHASES, sizeof *run.seconds);
  run.step_bytes = calloc(steps, sizeof *run.step_bytes);
  if (fk_reserve_result(job, result) != 0 || run.seconds == NULL || run.step_bytes == NULL)
    fk_fail(job, "allocate", "memory of results", "no memory");
  if (fk_check_options(job, backend->accepts) == 0 && job->error[0] == '\0') reserve_all(&run);
  if (fk_begin_computation(&run.computation, settings->compute, job->communicator) != 0)
    fk_fail(job, "allocate", "memory of the computation", "no memory");
  if (settings->input == FK_WRITTEN) fk_make_empty(job);
  if (fk_agree(job) == 0) {
    measure(&run, result);
    fk_agree(job);
  }
  fk_end_computation(&run.computation);
  result->status = job->error[0] == '\0' ? 0 : -1;
  memcpy(result->error, job->error, sizeof result->error);
  for (size_t i = 0; i < FK_OPERATIONS_MAX; ++i)
    free(run.blocks[i].memory);
  free(run.seconds);
  free(run.step_bytes);
}
