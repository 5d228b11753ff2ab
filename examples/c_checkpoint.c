/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoint and restart from C: a program continues from the newest step of its dataset, if there
   is one, and writes further steps while it computes. Run it twice to see a restart. */
#include <forebay.h>
#include <stdio.h>

#define STEPS 5
#define ELEMENTS 60000

static double temperature[ELEMENTS];
static const uint64_t kShape[] = {ELEMENTS};
static const uint64_t kStart[] = {0}; /* with several ranks, each has its start and count */

static forebay_block block_of_rank(void) {
  forebay_block block = FOREBAY_INIT(forebay_block);
  block.field = "temperature";
  block.type = FOREBAY_FLOAT64;
  block.dimensions = 1;
  block.count = kShape;
  block.global_shape = kShape;
  block.start = kStart;
  return block;
}

/* Continues with the newest step. Stores its number; 0 if there is no dataset. */
static int restart(forebay_runtime* runtime,
                   const char* path,
                   uint64_t* newest,
                   forebay_error* error) {
  forebay_dataset_reader* dataset;
  forebay_step_reader* step = NULL;
  const uint64_t* numbers = NULL;
  size_t count = 0;
  *newest = 0;
  int status = forebay_dataset_open(runtime, path, NULL, &dataset, error);
  if (status == FOREBAY_NOT_FOUND) return FOREBAY_OK;
  if (!status) status = forebay_dataset_steps(dataset, &numbers, &count, error);
  if (!status && count > 0) {
    *newest = numbers[count - 1];
    const forebay_block block = block_of_rank();
    status = forebay_dataset_open_step(dataset, *newest, &step, error);
    if (!status) status = forebay_step_read(step, &block, temperature, NULL, error);
  }
  forebay_step_close(step);
  forebay_dataset_reader_close(dataset);
  return status;
}

/* Puts a step with its time and commits it. The request finishes when the step is durable. */
static int write_step(forebay_step_writer* step,
                      double time,
                      forebay_request** committed,
                      forebay_error* error) {
  const forebay_block block = block_of_rank();
  forebay_attribute attribute = FOREBAY_INIT(forebay_attribute);
  attribute.name = "time";
  attribute.type = FOREBAY_FLOAT64;
  attribute.data = &time;
  int status = forebay_step_put(step, &block, temperature, error); /* copies */
  if (!status) status = forebay_step_set_attribute(step, FOREBAY_OF_STEP, &attribute, error);
  if (!status) return forebay_step_commit(step, committed, error);
  forebay_step_abort(step);
  return status;
}

static int compute(forebay_dataset_writer* dataset, uint64_t first, forebay_error* error) {
  forebay_request* last = NULL;
  int status = FOREBAY_OK;
  for (uint64_t number = first; number < first + STEPS && !status; ++number) {
    for (size_t i = 0; i < ELEMENTS; ++i)
      temperature[i] += 1;
    forebay_request_free(last); /* its step continues */
    last = NULL;
    forebay_step_writer* step;
    status = forebay_dataset_begin_step(dataset, number, &step, error);
    if (!status) status = write_step(step, (double)number * 0.5, &last, error);
  }
  if (!status) status = forebay_request_wait(last, -1, NULL, error);
  forebay_request_free(last);
  return status;
}

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : "c_checkpoint.fb";
  forebay_runtime* runtime;
  forebay_dataset_writer* dataset = NULL;
  forebay_dataset_options options = FOREBAY_INIT(forebay_dataset_options);
  options.existing = FOREBAY_EXISTING_APPEND; /* a restarted program continues the dataset */
  forebay_error error;
  uint64_t newest = 0;
  int status = forebay_runtime_create(NULL, &runtime, &error);
  if (!status) status = restart(runtime, path, &newest, &error);
  if (!status) status = forebay_dataset_create(runtime, path, &options, &dataset, &error);
  if (!status) status = compute(dataset, newest + 1, &error);
  const int closed = dataset ? forebay_dataset_writer_close(dataset, NULL) : status;
  forebay_runtime_destroy(runtime);
  if (status) fprintf(stderr, "%s\n", error.message);
  return status || closed || temperature[0] != (double)(newest + STEPS) ? 1 : 0;
}
