// SPDX-License-Identifier: Apache-2.0
// A column of a table: one record of each row, by pread() and by stdio.
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#define HEADER 0

double sum_by_pread(int fd, int rows, off_t stride, size_t size, double* buffer) {
  double sum = 0;
  for (int row = 0; row < rows; row++) {
    if (pread(fd, buffer, size, HEADER + row * stride) != (ssize_t)size) return -1;
    sum += buffer[0];
  }
  return sum;
}

double sum_by_stdio(FILE* table, long width, double* buffer) {
  double sum = 0;
  while (fread(buffer, sizeof(double), 128, table) == 128) {
    sum += buffer[0];
    fseek(table, width - (long)(128 * sizeof(double)), SEEK_CUR);
  }
  return sum;
}
