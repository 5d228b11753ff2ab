// SPDX-License-Identifier: Apache-2.0
// A kernel: the I/O of a parallel program in a few numbers (docs/formats/kernel.md), and its draws.
// C11 without dependencies, because `forebay kernel emit` copies these files into programs that it
// gives away. Plain values; all functions are pure and may be called from any thread.
#ifndef FOREBAY_KERNELS_KERNEL_H
#define FOREBAY_KERNELS_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FK_NAMES_MAX = 16,       ///< of [names], besides rank, writers and step
  FK_LOOPS_MAX = 8,        ///< loops around an access
  FK_BALANCE_MAX = 32,     ///< steps between two balances of walkers
  FK_OPERATIONS_MAX = 32,  ///< of a kernel
  FK_STACK_MAX = 32        // values of an expression
};

enum fk_family {
  FK_CONSTANT,
  FK_UNIFORM,
  FK_NORMAL,
  FK_EXPONENTIAL,
  FK_LOGNORMAL,
  FK_GAMMA,
  FK_TABLE,
  FK_QUANTILES,
  FK_MIXTURE,
  FK_WALKERS,
  FK_REPLAY
};

/// How often a distribution is drawn.
enum fk_drawn { FK_EACH_CALL, FK_EACH_STEP, FK_EACH_WRITER };

struct fk_distribution {
  enum fk_family family;
  enum fk_drawn drawn;
  /// constant: value. uniform: low, high. exponential: mean, low. normal, lognormal, gamma: mean,
  /// deviation. walkers: walkers, bytes, branch, die, drift.
  double parameters[5];
  uint32_t balance;  ///< steps, of walkers
  size_t count;      ///< of values, weights or parts
  const double* values;
  const double* weights;  ///< cumulative; the last one is 1. Of a table or a mixture
  const struct fk_distribution* parts;
  uint32_t shape[3];  ///< steps, writers, calls of a replay: values[step][writer][call]
};

/// Where a number is drawn: the counter of the random number generator.
struct fk_draw_at {
  uint64_t seed;
  uint32_t stream;  ///< operation and purpose
  uint32_t writer;
  uint32_t step;
  uint32_t call;
};

/// Two uniform numbers in (0, 1), by Philox4x32-10. `attempt` gives further ones.
void fk_uniforms(const struct fk_draw_at* at, uint32_t attempt, double uniforms[2]);

/// A number of the distribution.
double fk_draw(const struct fk_distribution* distribution, const struct fk_draw_at* at);

/// The quantile of the standard normal distribution. 0 < probability < 1.
double fk_normal_quantile(double probability);

/// An integer expression in postfix order.
enum fk_token_kind { FK_NUMBER, FK_NAME, FK_ADD, FK_SUBTRACT, FK_MULTIPLY, FK_DIVIDE, FK_MODULO };
struct fk_token {
  enum fk_token_kind kind;
  int64_t value;  ///< number, or index of a name: 0 rank, 1 writers, 2 step, then [names]
};
struct fk_expression {
  size_t count;
  const struct fk_token* tokens;
};

/// Sum of terms: factor * product of names * variable of the loop at `loop`.
struct fk_term {
  int64_t factor;
  int32_t loop;  ///< -1: no variable
  size_t name_count;
  const uint8_t* names;
};
struct fk_sum {
  size_t count;
  const struct fk_term* terms;
};

/// An access, or the begin or end of a loop.
enum fk_node_kind { FK_ACCESS, FK_LOOP, FK_END };
struct fk_node {
  enum fk_node_kind kind;
  struct fk_sum offset;  ///< of an access; the count of a loop
  struct fk_sum bytes;
  size_t partner;  ///< index of the end of a loop; for an end, that of its loop
};

enum fk_do { FK_WRITE, FK_READ };
enum fk_when { FK_EACH, FK_BEFORE, FK_FIRST, FK_LAST };

struct fk_operation {
  const char* name;
  enum fk_do what;
  enum fk_when when;
  uint32_t every;
  uint32_t from;                          ///< index of the write, of a read
  uint32_t first_rank, end_rank, stride;  ///< ranks that do it
  uint32_t unit_bytes;
  int has_size;  ///< 0: a read of what the rank has written
  struct fk_distribution calls;
  struct fk_distribution size;
  size_t node_count;  ///< of the signature of offsets; 0: none
  const struct fk_node* nodes;
};

struct fk_kernel {
  const char* name;
  uint32_t writers;
  uint32_t steps;
  uint64_t seed;
  struct fk_distribution compute_s;
  size_t name_count;  ///< of [names]
  const struct fk_expression* names;
  size_t operation_count;
  const struct fk_operation* operations;
};

/// One call: bytes of the array of a write in a step.
struct fk_call {
  uint64_t offset;
  uint64_t bytes;
};
struct fk_calls {
  size_t count;
  size_t capacity;
  struct fk_call* calls;  ///< by malloc(); fk_free_calls()
  uint64_t bytes;         ///< of all calls
  uint64_t end;           ///< largest end of a call
};
/// 1 if no call begins before the end of the one before it.
int fk_ascend(const struct fk_calls* calls);
void fk_free_calls(struct fk_calls* calls);

/// 1 if the operation is done in this step. `step` -1: before the clock starts.
int fk_is_due(const struct fk_kernel* kernel, const struct fk_operation* operation, int64_t step);

/// Seconds of computation of a rank before a step; at `steps` after the last. Never negative.
double fk_compute_seconds(const struct fk_kernel* kernel, uint32_t rank, uint32_t step);

/// Calls of a rank without their place: offsets begin with 0, or are those of the signature. Empty
/// for a rank that does not take part, and for a read without size. Returns 0, or -1 if memory is
/// short or a call exceeds a limit; `calls` must be zero or from an earlier call.
int fk_make_calls(const struct fk_kernel* kernel,
                  uint32_t operation,
                  uint32_t rank,
                  int64_t step,
                  struct fk_calls* calls);

/// Calls of a read with a size or offsets, in an array of `array_bytes`: with a size, each rank
/// that takes part reads an equal share. The last call is cut at the end of the share.
int fk_make_read_calls(const struct fk_kernel* kernel,
                       uint32_t operation,
                       uint32_t rank,
                       int64_t step,
                       uint64_t array_bytes,
                       struct fk_calls* calls);

/// The array of a write in a step: starts[rank] is the offset of a rank's first byte for rank 0 to
/// `writers`, whose last is the size of the array. With offsets, all are 0 but the last. Returns 0,
/// or -1.
int fk_layout(const struct fk_kernel* kernel, uint32_t operation, int64_t step, uint64_t* starts);

/// The newest step not after `step` in which the write `operation` is done before the read
/// `reader`; -1: before the clock; -2: none.
int64_t fk_step_of_data(const struct fk_kernel* kernel, uint32_t reader, int64_t step);

/// Content of bytes [offset, offset + size) of the array of `operation` in `step`.
void fk_fill(void* memory, uint64_t bytes, uint32_t operation, int64_t step, uint64_t offset);
/// Changes the content of an earlier step, at the same offset, to that of this one: one word of
/// each page. Content of different steps differs only there.
void fk_restamp(void* memory, uint64_t bytes, uint32_t operation, int64_t step, uint64_t offset);
/// The first byte that differs from the content, or `bytes` if none.
uint64_t fk_first_mismatch(
    const void* memory, uint64_t bytes, uint32_t operation, int64_t step, uint64_t offset);

#ifdef __cplusplus
}
#endif

#endif
