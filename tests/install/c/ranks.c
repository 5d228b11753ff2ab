/* SPDX-License-Identifier: Apache-2.0 */
/* A first program in C of a user of MPI: each rank writes a row of an array and reads all rows
   back. Rank 0 prints the number of ranks, which the test compares. A failure of one rank is that
   of all. */
#include <forebay_mpi.h>
#include <stdio.h>

static int write_row(forebay_runtime* runtime,
                     const char* path,
                     const forebay_block* block,
                     forebay_error* error) {
  const double row[] = {(double)block->start[0], 7};
  forebay_dataset_writer* dataset = NULL;
  forebay_step_writer* step = NULL;
  int status = forebay_dataset_create(runtime, path, NULL, &dataset, error);
  if (!status) status = forebay_dataset_begin_step(dataset, 1, &step, error);
  if (!status) status = forebay_step_put(step, block, row, error);
  if (!status) status = forebay_step_commit(step, NULL, error);
  if (!status) status = forebay_dataset_writer_close(dataset, error);
  return status;
}

static int read_rows(forebay_runtime* runtime,
                     const char* path,
                     const forebay_block* block,
                     double* rows,
                     forebay_error* error) {
  forebay_dataset_reader* dataset = NULL;
  forebay_step_reader* step = NULL;
  int status = forebay_dataset_open(runtime, path, NULL, &dataset, error);
  if (!status) status = forebay_dataset_open_step(dataset, 1, &step, error);
  if (!status) status = forebay_step_read(step, block, rows, NULL, error);
  forebay_step_close(step);
  forebay_dataset_reader_close(dataset);
  return status;
}

/* A bad argument on the last rank alone. Returns 0 if each call fails on this rank. */
static int check_failures(forebay_runtime* runtime,
                          const char* path,
                          const forebay_block* block,
                          bool is_last) {
  const double row[] = {0, 0};
  forebay_error error;
  forebay_runtime* refused = NULL;
  forebay_dataset_writer* dataset = NULL;
  forebay_step_writer* step = NULL;
  forebay_runtime_options runtime_options = FOREBAY_INIT(forebay_runtime_options);
  forebay_dataset_options options = FOREBAY_INIT(forebay_dataset_options);
  if (is_last) {
    runtime_options.placement = 99;
    options.plan = "no_such_plan.toml";
  }
  if (forebay_runtime_create_mpi(MPI_COMM_WORLD, &runtime_options, &refused, &error) !=
      FOREBAY_INVALID_ARGUMENT)
    return 4;
  if (forebay_dataset_create(runtime, path, &options, &dataset, &error) != FOREBAY_NOT_FOUND)
    return 5;
  if (forebay_dataset_create(runtime, path, NULL, &dataset, &error)) return 6;
  if (forebay_dataset_begin_step(dataset, 1, &step, &error)) return 7;
  const int status = forebay_step_put(step, block, is_last ? NULL : row, &error);
  if (status != (is_last ? FOREBAY_INVALID_ARGUMENT : FOREBAY_OK)) return 8;
  if (forebay_step_commit(step, NULL, &error) != FOREBAY_INVALID_ARGUMENT) return 9;
  if (forebay_dataset_writer_close(dataset, &error) != FOREBAY_INVALID_ARGUMENT) return 10;
  return 0;
}

static int run(const char* path, forebay_error* error) {
  forebay_runtime* runtime = NULL;
  uint32_t rank = 0;
  uint32_t ranks = 0;
  MPI_Comm communicator = MPI_COMM_NULL;
  double rows[64] = {0};
  int status = forebay_runtime_create_mpi(MPI_COMM_WORLD, NULL, &runtime, error);
  if (!status) status = forebay_runtime_rank(runtime, &rank, &ranks, NULL, error);
  if (!status) status = forebay_runtime_communicator(runtime, &communicator, error);
  const uint64_t shape[] = {ranks, 2};
  const uint64_t row[] = {1, 2};
  const uint64_t start[] = {rank, 0};
  const uint64_t origin[] = {0, 0};
  forebay_block block = FOREBAY_INIT(forebay_block);
  block.field = "rows";
  block.type = FOREBAY_FLOAT64;
  block.dimensions = 2;
  block.global_shape = shape;
  block.count = row;
  block.start = start;
  if (!status) status = write_row(runtime, path, &block, error);
  if (!status) MPI_Barrier(communicator); /* close() returns when this rank has no step left */
  block.count = shape;
  block.start = origin;
  if (!status) status = read_rows(runtime, path, &block, rows, error);
  for (uint32_t i = 0; !status && i < ranks; ++i)
    if (rows[2 * i] != i || rows[2 * i + 1] != 7) MPI_Abort(communicator, 3);
  char failed_path[4096];
  snprintf(failed_path, sizeof failed_path, "%s.failed", path);
  block.count = row;
  block.start = start;
  const int wrong = status ? 0 : check_failures(runtime, failed_path, &block, rank + 1 == ranks);
  if (wrong) MPI_Abort(communicator, wrong);
  if (!status && rank == 0) printf("%d\n", (int)ranks);
  forebay_runtime_destroy(runtime);
  return status;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  forebay_error error;
  const int status = argc == 2 ? run(argv[1], &error) : FOREBAY_INVALID_ARGUMENT;
  if (status) {
    fprintf(stderr, "%s\n", argc == 2 ? error.message : "usage: ranks DIRECTORY");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  forebay_runtime* refused;
  const int null_status = forebay_runtime_create_mpi(MPI_COMM_NULL, NULL, &refused, &error);
  MPI_Finalize();
  return null_status != FOREBAY_INVALID_ARGUMENT || refused != NULL;
}
