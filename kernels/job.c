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

/// The next word of a list with commas, and its size; NULL at the end. `*rest` begins at the list.
static const char* next_word(const char** rest, size_t* size) {
  const char* const word = *rest;
  if (word == NULL || *word == '\0') return NULL;
  *size = strcspn(word, ",");
  *rest = word + *size + (word[*size] == ',');
  return word;
}

/// 1 if the list contains these bytes as an entry.
static int has_entry(const char* list, const char* entry, size_t entry_size) {
  size_t size = 0;
  for (const char* word; (word = next_word(&list, &size)) != NULL;)
    if (size == entry_size && strncmp(word, entry, size) == 0) return 1;
  return 0;
}

static int is_number(const char* text, size_t size) {
  return size > 0 && size < 10 && strspn(text, "0123456789") >= size;
}

int fk_check_options(struct fk_job* job, const char* accepts) {
  const char* rest = job->options;
  size_t size = 0;
  for (const char* word; (word = next_word(&rest, &size)) != NULL;) {
    const char* const sign = memchr(word, '=', size);
    if (has_entry(accepts, word, size)) continue;
    const size_t name = sign == NULL ? size : (size_t)(sign - word) + 1;
    const size_t value = size - name;
    char text[FK_ERROR_MAX];
    snprintf(text, sizeof text, "option %.*s", (int)(size < 200 ? size : 200), word);
    if (has_entry(accepts, word, name)) {
      if (!is_number(sign + 1, value)) return fk_fail(job, "read", text, "its value is no number");
    } else if (sign == NULL || !has_entry(accepts, "*=", 2)) {
      char cause[FK_ERROR_MAX];
      snprintf(cause, sizeof cause, "options are %.300s", accepts == NULL ? "none" : accepts);
      return fk_fail(job, "read", text, cause);
    } else if (name == 1 || name > MPI_MAX_INFO_KEY || value == 0 || value >= MPI_MAX_INFO_VAL) {
      return fk_fail(job, "read", text, "a hint is NAME=VALUE, and MPI limits the length of both");
    }
  }
  return 0;
}

int fk_has_option(const struct fk_job* job, const char* word) {
  return has_entry(job->options, word, strlen(word));
}

int fk_next_assignment(const char** rest, char name[FK_OPTION_MAX], char value[FK_OPTION_MAX]) {
  size_t size = 0;
  for (const char* word; (word = next_word(rest, &size)) != NULL;) {
    const char* const sign = memchr(word, '=', size);
    if (sign == NULL) continue;
    snprintf(name, FK_OPTION_MAX, "%.*s", (int)(sign - word), word);
    snprintf(value, FK_OPTION_MAX, "%.*s", (int)(word + size - sign - 1), sign + 1);
    return 1;
  }
  return 0;
}

long fk_option_number(const struct fk_job* job, const char* name, long missing) {
  char found[FK_OPTION_MAX], value[FK_OPTION_MAX];
  for (const char* rest = job->options; fk_next_assignment(&rest, found, value);)
    if (strcmp(found, name) == 0) return strtol(value, NULL, 10);
  return missing;
}

MPI_Info fk_option_hints(const struct fk_job* job) {
  char name[FK_OPTION_MAX], value[FK_OPTION_MAX];
  MPI_Info hints;
  MPI_Info_create(&hints);
  for (const char* rest = job->options; fk_next_assignment(&rest, name, value);)
    MPI_Info_set(hints, name, value);
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

void fk_find_node(struct fk_job* job) {
  int rank = 0, ranks = 1;
  MPI_Comm node;
  MPI_Comm_split_type(job->communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  job->node_rank = (uint32_t)rank;
  job->node_ranks = (uint32_t)ranks;
  job->nodes = rank == 0;
  MPI_Allreduce(MPI_IN_PLACE, &job->nodes, 1, MPI_UINT32_T, MPI_SUM, job->communicator);
}

int fk_agree(struct fk_job* job) {
  int first = job->error[0] == '\0' ? (int)job->ranks : (int)job->rank;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, job->communicator);
  if (first == (int)job->ranks) return 0;
  MPI_Bcast(job->error, sizeof job->error, MPI_CHAR, first, job->communicator);
  return -1;
}

uint64_t fk_round_up(uint64_t bytes) {
  return (bytes + FK_BLOCK_BYTES - 1) / FK_BLOCK_BYTES * FK_BLOCK_BYTES;
}

uint64_t fk_begin_in_step(const struct fk_array* arrays,
                          const struct fk_array* array,
                          uint32_t ranks) {
  uint64_t begin = 0;
  for (; arrays != array; ++arrays)
    begin += fk_round_up(arrays->starts[ranks]);
  return begin;
}

int fk_next_part(const struct fk_array* array,
                 uint32_t ranks,
                 const struct fk_call* call,
                 uint32_t* rank,
                 struct fk_call* part) {
  const uint64_t* const starts = array->starts;
  const uint64_t end = call->offset + call->bytes;
  for (; *rank < ranks && starts[*rank] < end; ++*rank) {
    const uint64_t first = starts[*rank], last = starts[*rank + 1];
    const uint64_t from = first > call->offset ? first : call->offset;
    const uint64_t to = last < end ? last : end;
    if (from >= to) continue;
    *part = (struct fk_call){from, to - from};
    return 1;
  }
  return 0;
}

int fk_are_own(const struct fk_array* array, const struct fk_calls* calls) {
  const struct fk_calls* const own = array->calls;
  const size_t size = calls->count * sizeof *calls->calls;
  return calls->count == own->count && (size == 0 || memcmp(calls->calls, own->calls, size) == 0);
}

struct fk_calls fk_one_call(const struct fk_calls* calls, size_t number) {
  if (number >= calls->count) return (struct fk_calls){0};
  struct fk_call* const call = &calls->calls[number];
  return (struct fk_calls){.count = 1, .calls = call, .bytes = call->bytes};
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
