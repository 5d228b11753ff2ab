/* SPDX-License-Identifier: Apache-2.0 */
/* C interface of Forebay: runtimes, files, and sessions that read them. */
#ifndef FOREBAY_C_SESSION_H
#define FOREBAY_C_SESSION_H

#include <forebay/c/base.h>
#include <forebay/c/request.h>

/* Owns the agents (service threads) and the memory of this process. Takes no processor time while
   idle. */
typedef struct forebay_runtime forebay_runtime;
/* A file opened for reading. */
typedef struct forebay_file forebay_file;
/* Reads a declared extent of a file for any number of tasks. */
typedef struct forebay_session forebay_session;

/* Which ranks do I/O. */
enum {
  FOREBAY_PLACEMENT_AUTO = 0,     /* as in rank, unless the environment sets it */
  FOREBAY_PLACEMENT_IN_RANK = 1,  /* a service thread in each rank */
  FOREBAY_PLACEMENT_DEDICATED = 2 /* the last rank of each node is an I/O rank */
};

/* Receives one line of diagnostics without a line feed. `level` is 0 for information, 1 for a
   warning. Called from any thread; must not call Forebay. */
typedef void (*forebay_log_function)(void* context, int level, const char* line);

/* Options of a runtime. A member that is zero or NULL has the value of its environment variable
   (FOREBAY_BUDGET, FOREBAY_MACHINE, ...), else the default. */
typedef struct forebay_runtime_options {
  size_t size;
  uint64_t budget_bytes;          /* limit of the windows of all sessions; default 64 MiB */
  uint64_t buffer_cache_bytes;    /* limit of freed buffers that are kept; default 1 GiB */
  int placement;                  /* FOREBAY_PLACEMENT_..., the same on all ranks */
  unsigned copy_threads;          /* threads that copy from the page cache */
  const char* machine;            /* description of the storage: a name or a path */
  const char* hints_path;         /* hint file that sessions on demand push */
  const char* learned_hints_path; /* hint file that the runtime keeps */
  const char* trace_path;         /* trace into which requests are recorded */
  const char* network;            /* interface by which agents of other nodes reach this one */
  forebay_log_function log;       /* NULL: no logging; called until the runtime has ended */
  void* log_context;              /* first argument of `log` */
} forebay_runtime_options;

/* Creates the runtime of this process alone. `options` may be NULL. Fails with
   FOREBAY_INVALID_ARGUMENT for an invalid option or environment variable, which the text names. */
FOREBAY_API int forebay_runtime_create(const forebay_runtime_options* options,
                                       forebay_runtime** runtime,
                                       forebay_error* error);

/* Ends the runtime, or releases it if other handles still keep it alive. Aborts steps that are
   open. Blocks at most one minute for other ranks, and at most a step timeout more for committed
   steps. Not collective. With MPI, free all handles before MPI_Finalize(). */
FOREBAY_API void forebay_runtime_destroy(forebay_runtime* runtime);

/* Stores the number of this rank among the ranks with its role, and their number: 0 of 1 without
   MPI. Also whether it is an I/O rank, which must call forebay_runtime_serve(): never, unless the
   placement is FOREBAY_PLACEMENT_DEDICATED. Each of the three pointers may be NULL. */
FOREBAY_API int forebay_runtime_rank(const forebay_runtime* runtime,
                                     uint32_t* rank,
                                     uint32_t* rank_count,
                                     bool* is_io_rank,
                                     forebay_error* error);

/* Reads and writes for the other ranks. Blocks until the runtimes of those of its node and of the
   first rank have ended. Fails with FOREBAY_INVALID_ARGUMENT at once if this is no I/O rank. */
FOREBAY_API int forebay_runtime_serve(forebay_runtime* runtime, forebay_error* error);

/* Opens an existing file for reading; never creates one. Collective over the compute ranks: if a
   rank cannot open the file or finds another size, all get the same failure. */
FOREBAY_API int forebay_file_open(forebay_runtime* runtime,
                                  const char* path,
                                  forebay_file** file,
                                  forebay_error* error);

/* Stores the size in bytes when the file was opened. */
FOREBAY_API int forebay_file_size(const forebay_file* file, uint64_t* size, forebay_error* error);

/* Frees the handle. Sessions on the file continue. */
FOREBAY_API void forebay_file_close(forebay_file* file);

/* What is declared of the reads of a session. */
enum {
  FOREBAY_MODE_DECLARED = 0, /* all of the extent will be read; agents begin at once */
  FOREBAY_MODE_ON_DEMAND = 1 /* nothing; Forebay predicts reads, or receives hints */
};

/* When memory of the window may be reused. */
enum {
  FOREBAY_EVICT_READ_ONCE = 0, /* when as many bytes were delivered as it holds */
  FOREBAY_EVICT_LRU = 1        /* when other bytes need it, least recently used first */
};

/* Which agents read for the ranks that share a node. */
enum {
  FOREBAY_AGENT_AUTO = 0,
  FOREBAY_AGENT_PER_RANK = 1,
  FOREBAY_AGENT_PER_NODE = 2 /* one for all; bytes that several ranks need are read once */
};

/* "None" as readahead_bytes of a plan. */
#define FOREBAY_NO_READAHEAD UINT64_MAX

/* How a session reads. Sizes are in bytes. */
typedef struct forebay_read_plan {
  size_t size;
  int mode;                 /* FOREBAY_MODE_... */
  int access;               /* FOREBAY_ACCESS_... */
  int eviction;             /* FOREBAY_EVICT_...; no effect on demand */
  int agent_scope;          /* FOREBAY_AGENT_... */
  uint64_t budget_bytes;    /* limit of the window of the session */
  uint64_t readahead_bytes; /* limit of readahead, or FOREBAY_NO_READAHEAD */
  uint64_t splinter_bytes;  /* unit of residency: a power of two, at least 4 KiB */
  uint64_t window_bytes;    /* initial size of the window */
  uint64_t request_bytes;   /* size of a request to storage */
  uint32_t queue_depth;     /* requests to storage in flight */
  bool tune;                /* sessions of a loop try open values; collective with ranks */
} forebay_read_plan;

/* Opens a session on the bytes `extent` of a file; {0, FOREBAY_ALL} is the whole file. Agents begin
   to read. `plan` may be NULL. Does not wait for other ranks unless the plan has `tune`; with
   ranks, all open their sessions in the same order and with the same extent. Fails with
   FOREBAY_OUT_OF_RANGE if the extent passes the end of the file, with FOREBAY_INVALID_ARGUMENT for
   a plan that cannot work, and with FOREBAY_LIMIT if other sessions use the whole budget. */
FOREBAY_API int forebay_session_open(forebay_file* file,
                                     forebay_range extent,
                                     const forebay_read_plan* plan,
                                     forebay_session** session,
                                     forebay_error* error);

/* Reads range.size bytes into `buffer`; `request` may be NULL. Fails with FOREBAY_OUT_OF_RANGE
   outside the extent. A request gets all of its bytes or fails. */
FOREBAY_API int forebay_session_read(forebay_session* session,
                                     forebay_range range,
                                     void* buffer,
                                     forebay_request** request,
                                     forebay_error* error);

/* Reads several ranges as one request, one after the other in `buffer`, in the order of the list.
   The buffer has the sum of their sizes. `request` may be NULL. */
FOREBAY_API int forebay_session_read_ranges(forebay_session* session,
                                            forebay_range_list list,
                                            void* buffer,
                                            forebay_request** request,
                                            forebay_error* error);

/* A block of an array in a file: elements start[d] .. start[d]+count[d]-1 of shape[d]. The three
   arrays have `dimensions` values. As MPI_Type_create_subarray() and a hyperslab of HDF5. */
typedef struct forebay_subarray {
  size_t size;
  uint32_t dimensions; /* at least 1 */
  int order;           /* FOREBAY_ORDER_...: of the array in the file and of the buffer */
  const uint64_t* shape;
  const uint64_t* start;
  const uint64_t* count;
  uint64_t element_bytes;
  uint64_t array_offset; /* of the array, from the start of the file */
} forebay_subarray;

/* Reads a block of an array as one request. `buffer` has element_bytes times the product of the
   counts. Its elements are in the order of the file, without gaps. `request` may be NULL. */
FOREBAY_API int forebay_session_read_subarray(forebay_session* session,
                                              const forebay_subarray* block,
                                              void* buffer,
                                              forebay_request** request,
                                              forebay_error* error);

/* A contiguous, read-only part of a session. The bytes are valid and unchanged until it is
   released, even after the session is closed. A held view never blocks other requests. Must not be
   copied, and must be released before its runtime ends. */
typedef struct forebay_view {
  const void* data; /* NULL after release */
  uint64_t size;
  uint64_t offset; /* of the first byte, from the start of the file */
  void* storage[8];
} forebay_view;

/* Stores a view of `range` in `view`, whose former content is ignored. No memory is allocated if
   the bytes are resident. With `request` not NULL, `view` is filled when the request finishes, and
   is empty until then. Fails with FOREBAY_LIMIT if the range is larger than the budget of the plan,
   and with FOREBAY_OUT_OF_RANGE outside the extent; then the view is empty. */
FOREBAY_API int forebay_session_view(forebay_session* session,
                                     forebay_range range,
                                     forebay_view* view,
                                     forebay_request** request,
                                     forebay_error* error);

/* Releases a view; no effect on an empty one. On any thread. */
FOREBAY_API void forebay_view_release(forebay_view* view);

/* Hints that a range will be read soon. Never blocks. Bytes outside the extent are ignored. As
   posix_fadvise() with POSIX_FADV_WILLNEED. */
FOREBAY_API int forebay_session_prefetch(forebay_session* session,
                                         forebay_range range,
                                         forebay_error* error);

/* States the coming reads of this thread as a signature, such as "read {100 x (65536 i, 1024)}"
   (docs/formats/signature.md). Needs FOREBAY_MODE_ON_DEMAND. Fails with FOREBAY_INVALID_ARGUMENT,
   naming line and column of an error in the text. */
FOREBAY_API int forebay_session_hint(forebay_session* session,
                                     const char* signature,
                                     forebay_error* error);

/* The same for a list, in the order of the reads. Copies it. */
FOREBAY_API int forebay_session_hint_reads(forebay_session* session,
                                           forebay_range_list list,
                                           forebay_error* error);

/* What a session has done since it was opened. */
typedef struct forebay_session_report {
  size_t size;
  uint64_t bytes_served;       /* delivered to requests */
  uint64_t bytes_read;         /* read from storage, with private copies */
  uint64_t bytes_from_nodes;   /* of bytes_read: read by agents of other nodes */
  uint64_t splinters_loaded;   /* units of residency that were loaded */
  uint64_t splinters_reread;   /* of these: again after eviction */
  uint64_t private_copies;     /* made because the window could not serve a request */
  uint64_t private_copy_bytes; /* their size */
  uint64_t window_bytes;       /* current size of the window */
  uint64_t readahead_bytes;    /* current distance of readahead */
  uint64_t prefetch_hits;      /* on demand: reads whose bytes were in memory */
  uint64_t prefetch_late;      /* storage was reading them already */
  uint64_t prefetch_misses;    /* some bytes were not requested before */
  uint64_t bytes_pushed;       /* read by prediction or hint */
  uint64_t bytes_wasted;       /* of bytes_pushed: not used so far */
  const char* plan_reason;     /* why the library chose its plan; valid until the close */
} forebay_session_report;

/* Stores the report in `report`, which begins as FOREBAY_INIT(forebay_session_report). */
FOREBAY_API int forebay_session_get_report(const forebay_session* session,
                                           forebay_session_report* report,
                                           forebay_error* error);

/* Closes the session and frees its handle. Requests in progress get FOREBAY_CLOSED unless their
   bytes are resident. Held views stay valid. */
FOREBAY_API void forebay_session_close(forebay_session* session);

#endif
