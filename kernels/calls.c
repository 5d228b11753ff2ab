// SPDX-License-Identifier: Apache-2.0
// The calls of a rank in a step, from distributions or from a signature.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

static const uint64_t kCallsMax = UINT64_C(1) << 20;
static const uint64_t kBytesMax = UINT64_C(1) << 40;  // of a call, and of a rank in a step
static const uint32_t kBeforeStep = UINT32_MAX;       // in draws, of the step before the first

/// What is drawn for an operation; each has a stream of its own.
enum purpose { kSizes, kCalls, kPurposes };
static const uint32_t kComputeStream = FK_OPERATIONS_MAX * kPurposes;

int fk_ascend(const struct fk_calls* calls) {
  for (size_t i = 1; i < calls->count; ++i)
    if (calls->calls[i].offset < calls->calls[i - 1].offset + calls->calls[i - 1].bytes) return 0;
  return 1;
}

void fk_free_calls(struct fk_calls* calls) {
  free(calls->calls);
  *calls = (struct fk_calls){0};
}

static int add_call(struct fk_calls* calls, uint64_t offset, uint64_t bytes) {
  if (bytes > kBytesMax || offset > kBytesMax * kCallsMax || calls->count >= kCallsMax) return -1;
  if (bytes == 0) return 0;
  if (calls->count == calls->capacity) {
    const size_t capacity = calls->capacity == 0 ? 16 : 2 * calls->capacity;
    struct fk_call* const grown = realloc(calls->calls, capacity * sizeof *grown);
    if (grown == NULL) return -1;
    calls->calls = grown;
    calls->capacity = capacity;
  }
  calls->calls[calls->count++] = (struct fk_call){offset, bytes};
  calls->bytes += bytes;
  if (offset + bytes > calls->end) calls->end = offset + bytes;
  return calls->bytes > kBytesMax ? -1 : 0;
}

int fk_is_due(const struct fk_kernel* kernel, const struct fk_operation* operation, int64_t step) {
  if (operation->when == FK_BEFORE || step < 0) return operation->when == FK_BEFORE && step < 0;
  if (operation->when == FK_FIRST) return step == 0;
  if (operation->when == FK_LAST) return step == (int64_t)kernel->steps - 1;
  return (step + 1) % operation->every == 0;
}

static int takes_part(const struct fk_operation* operation, uint32_t rank) {
  return rank >= operation->first_rank && rank < operation->end_rank &&
         (rank - operation->first_rank) % operation->stride == 0;
}

static struct fk_draw_at draw_at(const struct fk_kernel* kernel,
                                 uint32_t stream,
                                 uint32_t rank,
                                 int64_t step) {
  return (struct fk_draw_at){.seed = kernel->seed,
                             .stream = stream,
                             .writer = rank,
                             .step = step < 0 ? kBeforeStep : (uint32_t)step};
}

double fk_compute_seconds(const struct fk_kernel* kernel, uint32_t rank, uint32_t step) {
  const struct fk_draw_at at = draw_at(kernel, kComputeStream, rank, step);
  return fmax(0, fk_draw(&kernel->compute_s, &at));
}

static uint64_t rounded(double bytes, uint32_t unit) {
  const double units = rint(bytes / unit);
  return units < 1 ? unit : (uint64_t)units * unit;
}

static int add_drawn_calls(const struct fk_kernel* kernel,
                           uint32_t operation,
                           const struct fk_draw_at* place,
                           struct fk_calls* calls) {
  const struct fk_operation* const what = &kernel->operations[operation];
  struct fk_draw_at at = *place;
  at.stream = operation * kPurposes + kCalls;
  const double count = rint(fk_draw(&what->calls, &at));
  at.stream = operation * kPurposes + kSizes;
  for (at.call = 0; at.call < count; ++at.call) {
    const double bytes = fk_draw(&what->size, &at);
    if (!(bytes <= (double)kBytesMax)) return -1;
    if (add_call(calls, calls->end, rounded(bytes, what->unit_bytes)) != 0) return -1;
  }
  return 0;
}

/// Overflow wraps around.
static int64_t divided(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t apply(enum fk_token_kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case FK_ADD:
      return (int64_t)((uint64_t)a + (uint64_t)b);
    case FK_SUBTRACT:
      return (int64_t)((uint64_t)a - (uint64_t)b);
    case FK_MULTIPLY:
      return (int64_t)((uint64_t)a * (uint64_t)b);
    case FK_DIVIDE:
      return divided(a, b);
    default:
      return (int64_t)((uint64_t)a - (uint64_t)b * (uint64_t)divided(a, b));
  }
}

static int64_t value_of(const struct fk_expression* expression, const int64_t* names) {
  int64_t stack[FK_STACK_MAX] = {0};
  size_t depth = 0;
  for (size_t i = 0; i < expression->count; ++i) {
    const struct fk_token* const token = &expression->tokens[i];
    if (token->kind == FK_NUMBER) {
      stack[depth++] = token->value;
    } else if (token->kind == FK_NAME) {
      stack[depth++] = names[token->value];
    } else {
      --depth;
      stack[depth - 1] = apply(token->kind, stack[depth - 1], stack[depth]);
    }
  }
  return stack[0];
}

struct evaluation {
  int64_t names[3 + FK_NAMES_MAX];
  int64_t loops[FK_LOOPS_MAX];
};

static int64_t sum_of(const struct fk_sum* sum, const struct evaluation* values) {
  int64_t total = 0;
  for (size_t i = 0; i < sum->count; ++i) {
    const struct fk_term* const term = &sum->terms[i];
    int64_t product = term->factor;
    if (term->loop >= 0) product *= values->loops[term->loop];
    for (size_t n = 0; n < term->name_count; ++n)
      product *= values->names[term->names[n]];
    total += product;
  }
  return total;
}

/// Nodes from `begin` to `end`, at a depth of loops. Recursion is at most FK_LOOPS_MAX deep.
static int add_nodes(const struct fk_node* nodes,
                     size_t begin,
                     size_t end,
                     int depth,
                     struct evaluation* values,
                     struct fk_calls* calls) {
  for (size_t i = begin; i < end; ++i) {
    const struct fk_node* const node = &nodes[i];
    if (node->kind == FK_ACCESS) {
      const int64_t offset = sum_of(&node->offset, values);
      const int64_t bytes = sum_of(&node->bytes, values);
      if (offset < 0 || bytes < 0) return -1;
      if (add_call(calls, (uint64_t)offset, (uint64_t)bytes) != 0) return -1;
      continue;
    }
    const int64_t count = sum_of(&node->offset, values);
    for (int64_t at = 0; at < count; ++at) {
      values->loops[depth] = at;
      if (add_nodes(nodes, i + 1, node->partner, depth + 1, values, calls) != 0) return -1;
    }
    i = node->partner;
  }
  return 0;
}

static int add_listed_calls(const struct fk_kernel* kernel,
                            const struct fk_operation* what,
                            uint32_t rank,
                            int64_t step,
                            struct fk_calls* calls) {
  struct evaluation values = {.names = {rank, kernel->writers, step < 0 ? 0 : step}};
  for (size_t i = 0; i < kernel->name_count; ++i)
    values.names[3 + i] = value_of(&kernel->names[i], values.names);
  return add_nodes(what->nodes, 0, what->node_count, 0, &values, calls);
}

int fk_make_calls(const struct fk_kernel* kernel,
                  uint32_t operation,
                  uint32_t rank,
                  int64_t step,
                  struct fk_calls* calls) {
  const struct fk_operation* const what = &kernel->operations[operation];
  calls->count = 0;
  calls->bytes = 0;
  calls->end = 0;
  if (!takes_part(what, rank)) return 0;
  if (what->node_count > 0) return add_listed_calls(kernel, what, rank, step, calls);
  if (!what->has_size) return 0;
  const struct fk_draw_at at = draw_at(kernel, 0, rank, step);
  return add_drawn_calls(kernel, operation, &at, calls);
}

/// The share of a rank: whole words, as equal as possible.
static struct fk_call share_of(const struct fk_operation* what, uint32_t rank, uint64_t bytes) {
  enum { kWordBytes = 8 };
  const uint64_t readers = (what->end_rank - what->first_rank + what->stride - 1) / what->stride;
  const uint64_t reader = (rank - what->first_rank) / what->stride;
  const uint64_t words = bytes / kWordBytes;
  const uint64_t begin = words / readers * reader + words % readers * reader / readers;
  const uint64_t next = words / readers * (reader + 1) + words % readers * (reader + 1) / readers;
  const uint64_t end = reader + 1 == readers ? bytes : next * kWordBytes;
  return (struct fk_call){begin * kWordBytes, end - begin * kWordBytes};
}

int fk_make_read_calls(const struct fk_kernel* kernel,
                       uint32_t operation,
                       uint32_t rank,
                       int64_t step,
                       uint64_t array_bytes,
                       struct fk_calls* calls) {
  const struct fk_operation* const what = &kernel->operations[operation];
  if (what->node_count > 0) {
    if (fk_make_calls(kernel, operation, rank, step, calls) != 0) return -1;
    return calls->end <= array_bytes ? 0 : -1;
  }
  *calls = (struct fk_calls){0};
  if (!takes_part(what, rank)) return 0;
  const struct fk_call share = share_of(what, rank, array_bytes);
  struct fk_draw_at at = draw_at(kernel, operation * kPurposes + kSizes, rank, step);
  for (uint64_t done = 0; done < share.bytes; ++at.call) {
    uint64_t bytes = rounded(fk_draw(&what->size, &at), what->unit_bytes);
    if (bytes > share.bytes - done) bytes = share.bytes - done;
    if (add_call(calls, share.offset + done, bytes) != 0) return -1;
    done += bytes;
  }
  return 0;
}

int fk_layout(const struct fk_kernel* kernel, uint32_t operation, int64_t step, uint64_t* starts) {
  const int is_listed = kernel->operations[operation].node_count > 0;
  struct fk_calls calls = {0};
  uint64_t end = 0;
  int outcome = 0;
  for (uint32_t rank = 0; rank < kernel->writers && outcome == 0; ++rank) {
    outcome = fk_make_calls(kernel, operation, rank, step, &calls);
    starts[rank] = is_listed ? 0 : end;
    if (!is_listed) end += calls.bytes;
    if (is_listed && calls.end > end) end = calls.end;
  }
  starts[kernel->writers] = end;
  fk_free_calls(&calls);
  return outcome;
}

int64_t fk_step_of_data(const struct fk_kernel* kernel, uint32_t reader, int64_t step) {
  const uint32_t from = kernel->operations[reader].from;
  const struct fk_operation* const source = &kernel->operations[from];
  for (int64_t at = from < reader ? step : step - 1; at >= -1; --at)
    if (fk_is_due(kernel, source, at)) return at;
  return -2;
}
