// SPDX-License-Identifier: Apache-2.0
// Like NPB BT-IO, which reads its dumps back: whole dumps of one rank, and rows of the cells of a
// rank, by pread() and by MPI-IO.
#include <stdlib.h>
#include <unistd.h>

#include "mpi_stub.h"

#define POINT (5 * sizeof(double))

struct cell {
  int begin[3];
  int size[3];
};

int read_dumps(int fd, int dumps, off_t dump_bytes, size_t part_bytes, char* part) {
  for (int dump = 0; dump < dumps; dump++)
    if (pread(fd, part, part_bytes, dump * dump_bytes) < 0) return -1;
  return 0;
}

static void read_rows(int fd, const struct cell* c, off_t start, int grid, double* u) {
  for (int z = 0; z < c->size[2]; z++) {
    for (int y = 0; y < c->size[1]; y++) {
      pread(fd, u, c->size[0] * POINT, start + ((off_t)z * grid + y) * grid * POINT);
      u += c->size[0];
    }
  }
}

void read_cells(
    int fd, int dumps, off_t dump_bytes, const struct cell* cells, const off_t* starts) {
  double* const u = malloc(1 << 20);
  for (int dump = 0; dump < dumps; dump++) {
    for (int c = 0; c < 4; c++)
      read_rows(fd, &cells[c], dump * dump_bytes + starts[c], 102, u);
  }
  free(u);
}

int read_planes(MPI_File file, MPI_Offset start, int planes, int rows, int points, double* u) {
  MPI_Status status;
  for (int plane = 0; plane < planes; plane++) {
    for (int row = 0; row < rows; row++) {
      MPI_Offset offset = start + plane * 416160 + row * 4080;
      if (MPI_File_read_at(file, offset, u, 5 * points, MPI_DOUBLE, &status)) return -1;
    }
  }
  return 0;
}
