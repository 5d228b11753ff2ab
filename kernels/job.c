// SPDX-License-Identifier: Apache-2.0
// What all backends share: errors, options and paths.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

int fk_fail(struct fk_job* job, const char* operation, const char* path, const char* cause) {
  if (job->error[0] == '\0')
    snprintf(job->error, sizeof job->error, "%s %s: %s", operation, path, cause);
  return -1;
}

/// 1 if the list contains these bytes as an entry.
static int has_entry(const char* list, const char* entry, size_t size) {
  for (const char* word = list; word != NULL && *word != '\0';) {
    const size_t all = strcspn(word, ",");
    if (all == size && strncmp(word, entry, size) == 0) return 1;
    word += all + (word[all] == ',');
  }
  return 0;
}

static int is_number(const char* text, size_t size) {
  return size > 0 && size < 10 && strspn(text, "0123456789") >= size;
}

int fk_check_options(struct fk_job* job, const char* accepts) {
  for (const char* word = job->options; word != NULL && *word != '\0';) {
    const size_t all = strcspn(word, ",");
    const char* const sign = memchr(word, '=', all);
    const size_t name = sign == NULL ? all : (size_t)(sign - word) + 1;
    const size_t value = all - name;
    char text[FK_ERROR_MAX];
    snprintf(text, sizeof text, "option %.*s", (int)(all < 200 ? all : 200), word);
    if (has_entry(accepts, word, name)) {
      if (sign != NULL && !is_number(sign + 1, value))
        return fk_fail(job, "read", text, "its value is no number");
    } else if (sign == NULL || !has_entry(accepts, "*=", 2)) {
      char cause[FK_ERROR_MAX];
      snprintf(cause, sizeof cause, "options are %.300s", accepts == NULL ? "none" : accepts);
      return fk_fail(job, "read", text, cause);
    } else if (name == 1 || name > MPI_MAX_INFO_KEY || value == 0 || value >= MPI_MAX_INFO_VAL) {
      return fk_fail(job, "read", text, "a hint is NAME=VALUE, and MPI limits the length of both");
    }
    word += all + (word[all] == ',');
  }
  return 0;
}

/// The value after "NAME=", or the word itself; NULL if it is absent. Sets the length.
static const char* find_option(const struct fk_job* job,
                               const char* name,
                               char end,
                               size_t* length) {
  const size_t size = strlen(name);
  for (const char* word = job->options; word != NULL && *word != '\0';) {
    const size_t all = strcspn(word, ",");
    if (all >= size && strncmp(word, name, size) == 0 &&
        (end == '\0' ? all == size : word[size] == end)) {
      *length = all - size;
      return word + size;
    }
    word += all + (word[all] == ',');
  }
  return NULL;
}

int fk_has_option(const struct fk_job* job, const char* word) {
  size_t length = 0;
  return find_option(job, word, '\0', &length) != NULL;
}

long fk_option_number(const struct fk_job* job, const char* name, long missing) {
  size_t length = 0;
  const char* const value = find_option(job, name, '=', &length);
  return value == NULL ? missing : strtol(value + 1, NULL, 10);
}

MPI_Info fk_option_hints(const struct fk_job* job) {
  MPI_Info hints;
  MPI_Info_create(&hints);
  for (const char* word = job->options; word != NULL && *word != '\0';) {
    const size_t all = strcspn(word, ",");
    char text[MPI_MAX_INFO_KEY + MPI_MAX_INFO_VAL + 2] = {0};
    memcpy(text, word, all < sizeof text ? all : sizeof text - 1);
    char* const value = strchr(text, '=');
    if (value != NULL) {
      *value = '\0';
      MPI_Info_set(hints, text, value + 1);
    }
    word += all + (word[all] == ',');
  }
  return hints;
}

void fk_step_path(const struct fk_job* job,
                  const char* stem,
                  int64_t step,
                  const char* suffix,
                  char path[FK_PATH_MAX]) {
  char place[64] = "before";
  char group[32] = "";
  if (step >= 0) snprintf(place, sizeof place, "%06lld", (long long)step);
  if (job->group > 0) snprintf(group, sizeof group, "-%u", job->group);
  snprintf(path, FK_PATH_MAX, "%s/%s.%s%s%s", job->directory, stem, place, group, suffix);
}

int fk_agree(struct fk_job* job) {
  int first = job->error[0] == '\0' ? (int)job->ranks : (int)job->rank;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, job->communicator);
  if (first == (int)job->ranks) return 0;
  MPI_Bcast(job->error, sizeof job->error, MPI_CHAR, first, job->communicator);
  return -1;
}

int fk_all_ascend(struct fk_job* job, const struct fk_calls* calls) {
  int ascends = fk_ascend(calls);
  MPI_Allreduce(MPI_IN_PLACE, &ascends, 1, MPI_INT, MPI_MIN, job->communicator);
  return ascends;
}

size_t fk_calls_max(struct fk_job* job, const struct fk_calls* calls) {
  uint64_t count = calls->count;
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_UINT64_T, MPI_MAX, job->communicator);
  return count;
}
