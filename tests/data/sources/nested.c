// SPDX-License-Identifier: Apache-2.0
// Pairs of records: two near each other, and then a larger step.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { kPair = 2 };
static const int kRecordBytes = 1024;

int main(int argc, char** argv) {
  const int pairs = atoi(argv[1]);
  const long inner = atol(argv[2]), outer = atol(argv[3]);
  char buffer[1024];
  int fd = open(argv[argc - 1], O_RDONLY);
  if (fd < 0) exit(1);
  for (int pair = 0; pair < pairs; ++pair) {
    for (int k = 0; k < kPair; ++k) {
      lseek(fd, pair * outer + k * inner, SEEK_SET);
      if (read(fd, buffer, kRecordBytes) < 0) return 1;
    }
  }
  close(fd);
  return 0;
}
