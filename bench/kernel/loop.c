// SPDX-License-Identifier: Apache-2.0
// forebay-bench-kernel-loop DIRECTORY STEPS BYTES: what a programmer writes for a checkpoint: each
// rank writes BYTES to a file of its own in each step. Prints the seconds of the slowest rank.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kTransferBytes = 8 << 20 };

static int write_step(const char* directory, int step, int rank, const char* block, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/step.%06d.%d", directory, step, rank);
  const int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) return -1;
  for (size_t done = 0; done < bytes;) {
    const size_t rest = bytes - done;
    const ssize_t written =
        write(file, block + done, rest < kTransferBytes ? rest : kTransferBytes);
    if (written < 0) return -1;
    done += (size_t)written;
  }
  return close(file);
}

int main(int count, char** words) {
  if (count < 4) return 2;
  int rank = 0;
  int outcome = 0;
  const int steps = atoi(words[2]);
  const size_t bytes = strtoull(words[3], NULL, 10);
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  void* block = NULL;
  if (posix_memalign(&block, 2 << 20, bytes) != 0) return 1;
  memset(block, 1, bytes);
  double blocked = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < steps; ++step) {
    for (size_t i = 0; i < bytes; i += 4096)
      ((char*)block)[i] = (char)step;
    const double begin = MPI_Wtime();
    outcome |= write_step(words[1], step, rank, block, bytes);
    blocked += MPI_Wtime() - begin;
  }
  MPI_Allreduce(MPI_IN_PLACE, &blocked, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("{\"seconds\": %.9f}\n", blocked);
  MPI_Finalize();
  return outcome == 0 ? 0 : 1;
}
