/* SPDX-License-Identifier: Apache-2.0 */
/* Reading from C: a slab of a three-dimensional array as one request, and all planes as views of
   the session's window, without a copy. */
#include <forebay.h>
#include <stdio.h>
#include <string.h>

#define PLANES 64
#define ROWS 48
#define COLUMNS 40

static int print_error(const forebay_error* error) {
  fprintf(stderr, "%s\n", error->message);
  return 1;
}

/* Writes 0, 1, 2, ... as doubles, and returns 0. */
static int write_input(const char* path) {
  FILE* file = fopen(path, "wb");
  if (file == NULL) return 1;
  size_t written = 0;
  for (int i = 0; i < PLANES * ROWS * COLUMNS; ++i) {
    const double value = i;
    written += fwrite(&value, sizeof value, 1, file);
  }
  const int failed = fclose(file);
  return failed != 0 || written != (size_t)PLANES * ROWS * COLUMNS;
}

static double value_at(int plane, int row, int column) {
  return ((double)plane * ROWS + row) * COLUMNS + column;
}

/* Planes 10 to 25, rows 20 to 35, columns 5 to 20. Other work may be done before the wait. */
static int read_slab(forebay_session* session) {
  const uint64_t shape[] = {PLANES, ROWS, COLUMNS};
  const uint64_t start[] = {10, 20, 5};
  const uint64_t count[] = {16, 16, 16};
  forebay_subarray slab = FOREBAY_INIT(forebay_subarray);
  slab.dimensions = 3;
  slab.shape = shape;
  slab.start = start;
  slab.count = count;
  slab.element_bytes = sizeof(double);
  static double values[16][16][16];
  forebay_request* request;
  forebay_error error;
  if (forebay_session_read_subarray(session, &slab, values, &request, &error))
    return print_error(&error);
  const int status = forebay_request_wait(request, -1, NULL, &error);
  forebay_request_free(request);
  if (status) return print_error(&error);
  return values[0][0][0] != value_at(10, 20, 5) || values[15][15][15] != value_at(25, 35, 20);
}

/* The first value of each plane, from views. */
static int read_planes(forebay_session* session) {
  const uint64_t plane_bytes = (uint64_t)ROWS * COLUMNS * sizeof(double);
  for (int plane = 0; plane < PLANES; ++plane) {
    const forebay_range range = {(uint64_t)plane * plane_bytes, plane_bytes};
    forebay_view view;
    forebay_error error;
    if (forebay_session_view(session, range, &view, NULL, &error)) return print_error(&error);
    double first;
    memcpy(&first, view.data, sizeof first);
    const int is_wrong = view.size != plane_bytes || first != value_at(plane, 0, 0);
    forebay_view_release(&view);
    if (is_wrong) return 1;
  }
  return 0;
}

static int run(forebay_runtime* runtime, const char* path) {
  forebay_file* file;
  forebay_session* session = NULL;
  forebay_error error;
  if (forebay_file_open(runtime, path, &file, &error)) return print_error(&error);
  const forebay_range whole = {0, FOREBAY_ALL};
  int failed = 0;
  if (forebay_session_open(file, whole, NULL, &session, &error)) failed = print_error(&error);
  if (!failed) failed = read_slab(session) || read_planes(session);
  forebay_session_close(session);
  forebay_file_close(file);
  return failed;
}

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : "c_read_slab.bin";
  forebay_runtime* runtime;
  forebay_error error;
  if (write_input(path)) return 1;
  if (forebay_runtime_create(NULL, &runtime, &error)) return print_error(&error);
  const int failed = run(runtime, path);
  forebay_runtime_destroy(runtime);
  remove(path);
  return failed;
}
