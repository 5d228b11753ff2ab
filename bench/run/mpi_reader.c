// SPDX-License-Identifier: Apache-2.0
// forebay-bench-reader-MPI FILE COUNT [view]: the ranks read COUNT blocks of 1 KiB with a stride of
// 64 KiB, block after block or as one read of a file view, and print a checksum.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBlock = 1024, kStride = 65536 };

static int read_blocks(MPI_File file, unsigned char* into, int blocks, int rank, int ranks) {
  for (int i = 0; i < blocks; ++i) {
    const MPI_Offset offset = (MPI_Offset)(i * ranks + rank) * kStride;
    const int failed = MPI_File_read_at(file, offset, into + (size_t)i * kBlock, kBlock, MPI_BYTE,
                                        MPI_STATUS_IGNORE);
    if (failed) return failed;
  }
  return MPI_SUCCESS;
}

static int read_view(MPI_File file, unsigned char* into, int blocks, int rank, int ranks) {
  MPI_Datatype view;
  MPI_Type_vector(blocks, kBlock, ranks * kStride, MPI_BYTE, &view);
  MPI_Type_commit(&view);
  int failed =
      MPI_File_set_view(file, (MPI_Offset)rank * kStride, MPI_BYTE, view, "native", MPI_INFO_NULL);
  if (!failed) failed = MPI_File_read(file, into, blocks * kBlock, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Type_free(&view);
  return failed;
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (count < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  int rank;
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int blocks = atoi(words[2]) / ranks;
  unsigned char* into = malloc((size_t)blocks * kBlock);
  MPI_File file;
  int failed = MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  if (!failed) failed = (count > 3 ? read_view : read_blocks)(file, into, blocks, rank, ranks);
  if (failed) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_close(&file);
  unsigned long long sum = (unsigned long long)rank;
  for (size_t i = 0; i < (size_t)blocks * kBlock; ++i)
    sum = sum * 31 + into[i];
  free(into);
  unsigned long long total = 0;
  MPI_Reduce(&sum, &total, 1, MPI_UNSIGNED_LONG_LONG, MPI_BXOR, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%llu\n", total);
  MPI_Finalize();
  return 0;
}
