// SPDX-License-Identifier: Apache-2.0
// A stand-alone kernel: runs each backend once and prints a line of JSON for each.
// mpiexec -n RANKS ./kernel DIRECTORY [BACKEND[:OPTIONS] ...]
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runner.h"

extern const struct fk_kernel fk_emitted;

static const struct fk_backend* find_backend(const char* name) {
  const size_t size = strcspn(name, ":");
  for (const struct fk_backend* const* one = fk_backends; *one != NULL; ++one)
    if (strlen((*one)->name) == size && strncmp((*one)->name, name, size) == 0) return *one;
  return NULL;
}

static int run_one(const char* name, const char* directory) {
  const struct fk_settings settings = {
      .compute_scale = 1, .cache = FK_AS_IT_IS, .verify_steps = -1};
  const struct fk_backend* const backend = find_backend(name);
  const size_t size = strcspn(name, ":");
  struct fk_job job = {.communicator = MPI_COMM_WORLD, .kernel = &fk_emitted};
  struct fk_result result;
  int rank = 0;
  if (backend == NULL) {
    fprintf(stderr, "this program has no backend %s\n", name);
    return 2;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  job.rank = (uint32_t)rank;
  job.ranks = fk_emitted.writers;
  job.directory = directory;
  job.options = name[size] == ':' ? name + size + 1 : "";
  fk_run(backend, &job, &settings, &result);
  if (rank == 0) fk_print_result(&result, name, stdout);
  fk_free_result(&result);
  return result.status == 0 ? 0 : 1;
}

/// A run empties its directory first, so one with files is refused.
static int is_empty(const char* directory) {
  int rank = 0, entries = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    DIR* const opened = opendir(directory);
    if (opened == NULL) entries = -1;
    while (opened != NULL && entries < 3 && readdir(opened) != NULL)
      ++entries;  // "." and ".." are two
    if (opened != NULL) closedir(opened);
    if (entries != 2)
      fprintf(stderr, "%s: %s; name an empty directory, as a run removes what it has\n", directory,
              entries < 0 ? strerror(errno) : "it has files");
  }
  MPI_Bcast(&entries, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return entries == 2;
}

static int run_all(int count, char** words) {
  int outcome = 0;
  for (int i = 2; i < count; ++i)
    outcome |= run_one(words[i], words[1]);
  for (const struct fk_backend* const* one = fk_backends; count == 2 && *one != NULL; ++one)
    outcome |= run_one((*one)->name, words[1]);
  return outcome;
}

int main(int count, char** words) {
  int ranks = 0;
  int outcome = 2;
  MPI_Init(&count, &words);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count < 2)
    fprintf(stderr, "usage: mpiexec -n %u %s DIRECTORY [BACKEND[:OPTIONS] ...]\n",
            fk_emitted.writers, words[0]);
  else if ((uint32_t)ranks != fk_emitted.writers)
    fprintf(stderr, "start %u ranks, not %d\n", fk_emitted.writers, ranks);
  else if (is_empty(words[1]))
    outcome = run_all(count, words);
  MPI_Finalize();
  return outcome;
}
