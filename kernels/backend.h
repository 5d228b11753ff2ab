// SPDX-License-Identifier: Apache-2.0
// A backend stores the arrays of a kernel with one library or by hand. `forebay kernel emit` copies
// these files, so backends in C have no other dependencies than MPI and their library.
// All functions are collective over the job. After a failure on this rank, the following calls are
// made all the same, so that no rank waits for one that has left: a backend continues as well as it
// can, and returns -1 again where necessary.
#ifndef FOREBAY_KERNELS_BACKEND_H
#define FOREBAY_KERNELS_BACKEND_H

#include <mpi.h>

#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FK_ERROR_MAX = 512, FK_PATH_MAX = 4096, FK_BLOCK_BYTES = 4096 };
enum { FK_OPTION_MAX = MPI_MAX_INFO_VAL > MPI_MAX_INFO_KEY ? MPI_MAX_INFO_VAL : MPI_MAX_INFO_KEY };

/// One run of a kernel with one backend, the same on all ranks but for `rank` and `error`.
struct fk_job {
  MPI_Comm communicator;
  uint32_t rank;
  uint32_t ranks;       ///< = writers of the kernel
  uint32_t node_rank;   ///< among the ranks of this node; set by fk_find_node()
  uint32_t node_ranks;  ///< the ranks of this node
  uint32_t nodes;
  const struct fk_kernel* kernel;
  const char* directory;     ///< exists; empty at the start
  const char* options;       ///< of the backend: "direct", or "collective,cb_nodes=4"
  uint32_t group;            ///< of the arrays that are written or read next: its first operation
  char error[FK_ERROR_MAX];  ///< of the first failure of this rank; empty if none
};

/// The array of a write operation in one step.
struct fk_array {
  uint32_t operation;
  int64_t step;  ///< -1: before the clock starts
  /// Offset of each rank's first byte, and the size at the end. For an operation with offsets all
  /// are 0 but the last.
  const uint64_t* starts;
  /// The calls of this rank, with offsets in the array, ascending.
  const struct fk_calls* calls;
};

enum { FK_PLAN_MAX = 256 };

/// What only the backend can report.
struct fk_report {
  uint64_t staging_bytes;  ///< of this rank, the maximum over time
  uint64_t planned_bytes;  ///< the bound of staging; 0: no bound
  char plan[FK_PLAN_MAX];  ///< options that repeat the plan of the library; empty: it has none
};

struct fk_backend {
  const char* name;
  const char* options;  ///< for users: "page-cache (default), fsync, direct, shared"
  /// Words, and "NAME=" of numbers, by commas; "*=": any NAME=VALUE; NULL: no options.
  const char* accepts;
  const char* library;  ///< with its version, "HDF5 2.0.0"; NULL: none but MPI
  /// The state of a run; NULL after a failure. Succeeds on all ranks or on none.
  void* (*start)(struct fk_job* job);
  /// Begins to write the arrays of a step.
  int (*begin_write)(void* state, const struct fk_array* arrays, size_t count);
  /// The memory in which the application makes its calls of an array: `own`, or memory of the
  /// backend of the same size. May be NULL: `own`.
  void* (*memory)(void* state, const struct fk_array* array, void* own);
  /// Writes the calls of this rank, which are contiguous in `memory`. The application does not
  /// change the memory until end_write() returns.
  int (*write)(void* state, const struct fk_array* array, const void* memory);
  /// Ends the step. When it returns, the application may continue.
  int (*end_write)(void* state);
  /// The same for reading arrays that were written. May be NULL: cannot read.
  int (*begin_read)(void* state, const struct fk_array* arrays, size_t count);
  /// Any bytes of an array, contiguous in `memory`, which is aligned to FK_BLOCK_BYTES.
  int (*read)(void* state,
              const struct fk_array* array,
              const struct fk_calls* calls,
              void* memory);
  int (*end_read)(void* state);
  /// Returns when this rank's part is on storage, as far as the backend ensures it. May be NULL.
  /// The runner syncs all files afterwards.
  int (*make_durable)(void* state);
  /// May be NULL.
  void (*report)(const void* state, struct fk_report* report);
  /// Ends the run and frees the state.
  int (*finish)(void* state);
};

/// The version of a library as text, from the macros of its header.
#define FK_VERSION(major, minor, release) FK_TEXT(major) "." FK_TEXT(minor) "." FK_TEXT(release)
#define FK_TEXT(number) FK_TEXT_OF(number)
#define FK_TEXT_OF(number) #number

/// Keeps the first failure of a rank, as "operation path: cause", and returns -1.
int fk_fail(struct fk_job* job, const char* operation, const char* path, const char* cause);

/// Fails for an option that the backend does not accept, and for a value that MPI would refuse.
int fk_check_options(struct fk_job* job, const char* accepts);
/// 1 if the options contain this word.
int fk_has_option(const struct fk_job* job, const char* word);
/// The number of "NAME=number"; `missing` if there is none.
long fk_option_number(const struct fk_job* job, const char* name, long missing);
/// The next "NAME=value" of a list of options, which `*rest` begins at; 0 at its end.
int fk_next_assignment(const char** rest, char name[FK_OPTION_MAX], char value[FK_OPTION_MAX]);
/// Hints for MPI from all other options of the form "NAME=value"; the caller frees them.
MPI_Info fk_option_hints(const struct fk_job* job);

/// Collective. Sets the numbers of the job about nodes.
void fk_find_node(struct fk_job* job);
/// A path of the present group: directory/stem.step.suffix; "before" in place of step -1.
void fk_step_path(const struct fk_job* job,
                  const char* stem,
                  int64_t step,
                  const char* suffix,
                  char path[FK_PATH_MAX]);

/// The bytes up to the end of a block.
uint64_t fk_round_up(uint64_t bytes);
/// Where an array begins in a file with all `arrays` of a step, each in blocks of its own.
uint64_t fk_begin_in_step(const struct fk_array* arrays,
                          const struct fk_array* array,
                          uint32_t ranks);
/// The part of `call` that a rank has written, of those from `*rank` on; 0 if there is none.
int fk_next_part(const struct fk_array* array,
                 uint32_t ranks,
                 const struct fk_call* call,
                 uint32_t* rank,
                 struct fk_call* part);
/// 1 if these are the calls with which this rank has written the array.
int fk_are_own(const struct fk_array* array, const struct fk_calls* calls);
/// The call with this number alone; no call beyond the last one.
struct fk_calls fk_one_call(const struct fk_calls* calls, size_t number);
/// Collective: 1 if the calls of every rank ascend and do not overlap, so that one selection of a
/// library can contain them all.
int fk_all_ascend(struct fk_job* job, const struct fk_calls* calls);
/// Collective: the largest number of calls of a rank.
size_t fk_calls_max(struct fk_job* job, const struct fk_calls* calls);

/// The result of the job on all ranks: 0, or -1 with the Error of the lowest rank that failed.
int fk_agree(struct fk_job* job);

/// The backends that this program has, ending with NULL.
extern const struct fk_backend* const fk_backends[];

/// Writes nothing: the application alone.
extern const struct fk_backend fk_none;
extern const struct fk_backend fk_posix;
extern const struct fk_backend fk_mpiio;
extern const struct fk_backend fk_hdf5;
extern const struct fk_backend fk_pmpio;
extern const struct fk_backend fk_pnetcdf;
extern const struct fk_backend fk_adios1;
extern const struct fk_backend fk_adios2;

#ifdef __cplusplus
}
#endif

#endif
