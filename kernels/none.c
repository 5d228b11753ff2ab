// SPDX-License-Identifier: Apache-2.0
// No output: the application alone, to compare the times of the others with.
#include "backend.h"

static void* none_start(struct fk_job* job) { return job; }

static int none_begin_write(void* state, const struct fk_array* arrays, size_t count) {
  (void)state;
  (void)arrays;
  (void)count;
  return 0;
}

static int none_write(void* state, const struct fk_array* array, const void* memory) {
  (void)state;
  (void)array;
  (void)memory;
  return 0;
}

static int none_end(void* state) {
  (void)state;
  return 0;
}

const struct fk_backend fk_none = {
    .name = "none",
    .options = "writes nothing: the application alone; cannot read",
    .start = none_start,
    .begin_write = none_begin_write,
    .write = none_write,
    .end_write = none_end,
    .finish = none_end,
};
