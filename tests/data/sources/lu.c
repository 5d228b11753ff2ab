// SPDX-License-Identifier: Apache-2.0
// Out-of-core LU factorization by slabs: each step reads the next slab, and the remaining columns
// of all slabs before it.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct matrix {
  int fd;
  int slabs;
  off_t slab_bytes;
  off_t first_bytes;   // of the first slab in the update
  off_t shrink_bytes;  // by which each further one is shorter
};

static int read_slab(struct matrix* a, int slab, size_t size, void* into) {
  if (lseek(a->fd, slab * a->slab_bytes, SEEK_SET) < 0) return -1;
  return read(a->fd, into, size) == (ssize_t)size ? 0 : -1;
}

int factorize(struct matrix* a, void* next, void* before) {
  for (int step = 2; step < a->slabs; step++) {
    if (read_slab(a, step, a->slab_bytes, next) != 0) return -1;
    for (int slab = 0; slab < step; slab++) {
      if (read_slab(a, slab, a->first_bytes - slab * a->shrink_bytes, before) != 0) return -1;
    }
  }
  return 0;
}
