/* SPDX-License-Identifier: Apache-2.0 */
/* A first program in C of a user of the installed library. It prints the size of a file and the
   sum of its bytes, which the test compares, or the message of the error. */
#include <forebay.h>
#include <inttypes.h>
#include <stdio.h>

static int add_up(forebay_session* session, uint64_t bytes, uint64_t* sum, forebay_error* error) {
  for (uint64_t at = 0; at < bytes;) {
    forebay_view view;
    const forebay_range range = {at, bytes - at < 4096 ? bytes - at : 4096};
    const int status = forebay_session_view(session, range, &view, NULL, error);
    if (status) return status;
    for (uint64_t i = 0; i < view.size; ++i)
      *sum += ((const unsigned char*)view.data)[i];
    forebay_view_release(&view);
    at += range.size;
  }
  return FOREBAY_OK;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const forebay_range whole = {0, FOREBAY_ALL};
  forebay_runtime* runtime = NULL;
  forebay_file* file = NULL;
  forebay_session* session = NULL;
  forebay_error error;
  uint64_t size = 0;
  uint64_t sum = 0;
  int status = forebay_runtime_create(NULL, &runtime, &error);
  if (!status) status = forebay_file_open(runtime, argv[1], &file, &error);
  if (!status) status = forebay_file_size(file, &size, &error);
  if (!status) status = forebay_session_open(file, whole, NULL, &session, &error);
  if (!status) status = add_up(session, size, &sum, &error);
  if (status) {
    fprintf(stderr, "%s\n", error.message);
  } else {
    printf("%" PRIu64 " %" PRIu64 "\n", size, sum);
  }
  forebay_session_close(session);
  forebay_file_close(file);
  forebay_runtime_destroy(runtime);
  return status != FOREBAY_OK;
}
