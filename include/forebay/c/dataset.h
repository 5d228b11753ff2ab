/* SPDX-License-Identifier: Apache-2.0 */
/* C interface of Forebay: datasets. Steps are written behind the computation and become visible
   completely or not at all. They are read on any number of ranks. */
#ifndef FOREBAY_C_DATASET_H
#define FOREBAY_C_DATASET_H

#include <forebay/c/base.h>
#include <forebay/c/session.h>

/* A dataset that this program writes. Steps are published in the order of their numbers. */
typedef struct forebay_dataset_writer forebay_dataset_writer;
/* A step in progress on this rank; used by one thread at a time. */
typedef struct forebay_step_writer forebay_step_writer;
/* A dataset in the state in which it was opened. */
typedef struct forebay_dataset_reader forebay_dataset_reader;
/* An open step. Its data files stay open. */
typedef struct forebay_step_reader forebay_step_reader;
/* Memory from which storage is written without a copy. */
typedef struct forebay_buffer forebay_buffer;

/* A part of a field, or a box of a global array: what one call writes or reads. Shapes are in C
   order: the last dimension varies fastest. A Fortran array is described by its dimensions in
   reverse order, as in HDF5. Arrays have `dimensions` values and are only read inside the call. */
typedef struct forebay_block {
  size_t size;
  const char* field;
  int type;                     /* FOREBAY_INT8 ... FOREBAY_BYTES */
  uint32_t dimensions;          /* at least 1 */
  const uint64_t* count;        /* elements in each dimension */
  uint64_t part;                /* number of the part, if global_shape is NULL */
  const uint64_t* global_shape; /* shape of the global array; NULL: a part */
  const uint64_t* start;        /* first element of the box in the global array */
  const void* fill;             /* one element for elements that were not written, in a box that is
                                   read; NULL: these are an error */
  /* Where the elements lie in memory, as the memory dataspace of HDF5. All NULL: packed. Without
     strides, memory is the whole array; with strides, it ends at the last element of the block. */
  const uint64_t* memory_shape;   /* of the whole array in memory, with ghost layers; NULL: count */
  const uint64_t* memory_start;   /* first element of the block in that array; NULL: zeros */
  const uint64_t* memory_strides; /* elements between neighbors; NULL: by shape and order */
  int memory_order;               /* FOREBAY_ORDER_... of the elements in memory */
} forebay_block;

/* ---- Writing ---- */

/* What happens if the directory holds steps of a dataset. */
enum {
  FOREBAY_EXISTING_FAIL = 0,  /* fails with FOREBAY_EXISTS */
  FOREBAY_EXISTING_APPEND = 1 /* adds steps; creates the dataset if it does not exist */
};

typedef struct forebay_dataset_options {
  size_t size;
  int existing;          /* FOREBAY_EXISTING_... */
  bool tune;             /* tries plans in the first steps, then uses the fastest */
  const char* plan;      /* a strategy ("baton"), else the path of a TOML file */
  const char* plan_toml; /* TOML text of the plan, such as "retained_steps = 2"; excludes `plan` */
  const char* profile;   /* path of a tuning profile */
} forebay_dataset_options;

/* Creates the dataset (a directory) at `path`, or opens it to append. `options` may be NULL; those
   of the first rank are in force. Without a plan, that of FOREBAY_PLAN, else the library chooses.
   Collective over the compute ranks; if it fails on one rank, all get its failure. Fails with
   FOREBAY_EXISTS, with FOREBAY_PERMISSION if the dataset is open for writing, and with
   FOREBAY_INVALID_ARGUMENT for a plan that cannot work. */
FOREBAY_API int forebay_dataset_create(forebay_runtime* runtime,
                                       const char* path,
                                       const forebay_dataset_options* options,
                                       forebay_dataset_writer** dataset,
                                       forebay_error* error);

/* Begins a step whose number is larger than all before. All ranks begin the same steps in the same
   order. Blocks while as many steps are in flight as the plan permits; then fails with
   FOREBAY_LIMIT after the step timeout. */
FOREBAY_API int forebay_dataset_begin_step(forebay_dataset_writer* dataset,
                                           uint64_t number,
                                           forebay_step_writer** step,
                                           forebay_error* error);

/* Adds a part or a box to its field. Copies the elements of the block from `data` before it
   returns. A field has one type and one number of dimensions in all its blocks. Boxes must not
   overlap. Blocks while no staging memory is free, at most for the step timeout. After a failure
   the step cannot be committed. Not collective. */
FOREBAY_API int forebay_step_put(forebay_step_writer* step,
                                 const forebay_block* block,
                                 const void* data,
                                 forebay_error* error);

/* Allocates memory for forebay_step_adopt() and stores its address, aligned to 4 KiB, in `data`.
   The content is undefined. Freed memory is kept for later calls. */
FOREBAY_API int forebay_buffer_allocate(forebay_runtime* runtime,
                                        uint64_t size,
                                        void** data,
                                        forebay_buffer** buffer,
                                        forebay_error* error);

/* Frees a buffer that was not adopted. */
FOREBAY_API void forebay_buffer_free(forebay_buffer* buffer);

/* As forebay_step_put(), for the first bytes of a buffer. Copies only what is compressed, or is not
   one contiguous run in memory that begins at a multiple of 4 KiB. Ends the handle `buffer`, unless
   it fails; the memory returns to the runtime when it has been written. */
FOREBAY_API int forebay_step_adopt(forebay_step_writer* step,
                                   const forebay_block* block,
                                   forebay_buffer* buffer,
                                   forebay_error* error);

/* A name with a typed value, which describes a dataset, a step or a field. */
typedef struct forebay_attribute {
  size_t size;
  const char* name;
  int type;              /* type of the numbers, or FOREBAY_TEXT */
  uint32_t dimensions;   /* 0: one value; texts have at most one dimension */
  const uint64_t* shape; /* `dimensions` values */
  /* Numbers in C order. Of FOREBAY_TEXT: without dimensions the text (const char*), else an array
     of texts (const char* const*). */
  const void* data;
} forebay_attribute;

/* Sets an attribute of a field (its units, ...), or of the step if `field` is NULL. Copies the
   value. One rank is enough; different values of two ranks fail the step. A second call replaces
   the value. Fails with FOREBAY_INVALID_ARGUMENT for an invalid name, text or type, and with
   FOREBAY_LIMIT if attributes are too long. After a failure the step cannot be committed. Not
   collective; does not block. */
FOREBAY_API int forebay_step_set_attribute(forebay_step_writer* step,
                                           const char* field,
                                           const forebay_attribute* attribute,
                                           forebay_error* error);

/* Sets an attribute of the dataset, which each later step of this rank stores. */
FOREBAY_API int forebay_dataset_set_attribute(forebay_dataset_writer* dataset,
                                              const forebay_attribute* attribute,
                                              forebay_error* error);

/* The outcome of a commit: the step survives a power failure. */
typedef struct forebay_receipt {
  size_t size;
  uint64_t step;
  uint64_t perceived_ns;  /* for which this rank was blocked, in all calls of the step */
  uint64_t durable_ns;    /* from the begin of the step until it was durable */
  uint64_t bytes;         /* that this rank has put */
  uint64_t copied_bytes;  /* of `bytes`: copied by forebay_step_put() */
  uint64_t adopted_bytes; /* of `bytes`: written from adopted buffers */
} forebay_receipt;

/* Declares that this rank has put all its blocks. Ends the handle `step`, also on failure. The
   request finishes when the bytes of all ranks are durable and the step is published, or when the
   step has failed on all ranks; earlier steps are unchanged then. `request` may be NULL: blocks. */
FOREBAY_API int forebay_step_commit(forebay_step_writer* step,
                                    forebay_request** request,
                                    forebay_error* error);

/* Stores the receipt of a finished request of forebay_step_commit() in `receipt`, which begins as
   FOREBAY_INIT(forebay_receipt). Fails with FOREBAY_INVALID_ARGUMENT for another request, and with
   the failure of a failed one. */
FOREBAY_API int forebay_request_receipt(const forebay_request* request,
                                        forebay_receipt* receipt,
                                        forebay_error* error);

/* Aborts the step on all ranks: it is never visible. Ends the handle `step`. */
FOREBAY_API void forebay_step_abort(forebay_step_writer* step);

/* Waits for all steps that this rank has committed, and frees the handle in any case. Returns the
   first failure of any step since opening. Not collective. */
FOREBAY_API int forebay_dataset_writer_close(forebay_dataset_writer* dataset, forebay_error* error);

/* ---- Reading ---- */

typedef struct forebay_dataset_read_options {
  size_t size;
  bool unverified;                 /* reads only the requested bytes, without their checksums */
  uint32_t concurrent_readers_max; /* ranks that read at a time; 0: all */
} forebay_dataset_read_options;

/* Opens a dataset for reading; never creates one. `options` may be NULL. Collective over the
   compute ranks: all get the same list of steps, or the same failure. */
FOREBAY_API int forebay_dataset_open(forebay_runtime* runtime,
                                     const char* path,
                                     const forebay_dataset_read_options* options,
                                     forebay_dataset_reader** dataset,
                                     forebay_error* error);

/* Stores the step numbers in increasing order, and how many they are. The array belongs to the
   dataset and is valid until that is closed. */
FOREBAY_API int forebay_dataset_steps(const forebay_dataset_reader* dataset,
                                      const uint64_t** numbers,
                                      size_t* count,
                                      forebay_error* error);

/* Frees the handle. Open steps stay open. */
FOREBAY_API void forebay_dataset_reader_close(forebay_dataset_reader* dataset);

/* Opens a step: its data files and their indexes. Blocks; not collective. Fails with
   FOREBAY_NOT_FOUND if the step does not exist, and with FOREBAY_CLOSED if it was dropped since the
   dataset was opened. A damaged file is no failure here: see forebay_step_damage(). */
FOREBAY_API int forebay_dataset_open_step(forebay_dataset_reader* dataset,
                                          uint64_t number,
                                          forebay_step_reader** step,
                                          forebay_error* error);

typedef struct forebay_step_info {
  size_t size;
  uint64_t number;
  int64_t begin_time_ns;            /* since 1970, by the clock of the first rank */
  uint64_t field_count;             /* fields, sorted by name */
  uint64_t attribute_count;         /* attributes of the step, sorted by name */
  uint64_t dataset_attribute_count; /* attributes of the dataset as of this step */
} forebay_step_info;

/* Stores a description of the step in `info`, which begins as FOREBAY_INIT(forebay_step_info). */
FOREBAY_API int forebay_step_get_info(const forebay_step_reader* step,
                                      forebay_step_info* info,
                                      forebay_error* error);

/* A field of a step. Pointers are valid until the step is closed. */
typedef struct forebay_field_info {
  size_t size;
  const char* name;
  int type;              /* of its elements */
  bool is_global;        /* one global array; else numbered parts */
  uint32_t dimensions;   /* of the array, or of each part */
  const uint64_t* shape; /* of the global array; NULL for parts */
  uint64_t block_count;  /* parts, or boxes of the array */
  uint64_t bytes;        /* size of all of them */
  uint64_t stored_bytes; /* size in the files, after compression */
  uint64_t attribute_count;
} forebay_field_info;

/* Stores a description of the field `name`, or of field number `index`, from 0, if `name` is NULL.
   Fails with FOREBAY_NOT_FOUND if there is none. */
FOREBAY_API int forebay_step_get_field(const forebay_step_reader* step,
                                       const char* name,
                                       size_t index,
                                       forebay_field_info* info,
                                       forebay_error* error);

/* Attributes of the step, and of the dataset as of this step, in place of the name of a field. */
#define FOREBAY_OF_STEP NULL
#define FOREBAY_OF_DATASET ""

/* Stores attribute number `index` of a field, of FOREBAY_OF_STEP or of FOREBAY_OF_DATASET. Its
   pointers are valid until the step is closed. FOREBAY_NOT_FOUND past the end. */
FOREBAY_API int forebay_step_get_attribute(const forebay_step_reader* step,
                                           const char* field,
                                           size_t index,
                                           forebay_attribute* attribute,
                                           forebay_error* error);

/* Parts of a field. */
typedef struct forebay_part_list {
  size_t size;
  uint32_t rank;       /* parts of this rank, if rank_count ranks share all parts evenly */
  uint32_t rank_count; /* 0: all parts */
  uint64_t* numbers;   /* receives the first `capacity` numbers, increasing; NULL with capacity 0 */
  size_t capacity;
  size_t count; /* stored by the call: number of parts, also beyond the capacity */
} forebay_part_list;

/* Stores the numbers of parts of a field. With rank_count, fails with the failure of a lost file if
   parts may be in it, so that no restart is incomplete without notice. */
FOREBAY_API int forebay_step_list_parts(const forebay_step_reader* step,
                                        const char* field,
                                        forebay_part_list* parts,
                                        forebay_error* error);

/* Stores the shape of a part: as many values as the field has dimensions. */
FOREBAY_API int forebay_step_part_shape(const forebay_step_reader* step,
                                        const char* field,
                                        uint64_t part,
                                        uint64_t* shape,
                                        forebay_error* error);

/* Reads a whole part or a box of a global array into `data`. Of memory that is not packed, only the
   elements of the block are written. The type is that of the field, or FOREBAY_BYTES: then elements
   are copied as they are, and block->count still counts elements. The counts of a part must be
   those of its shape. `request` may be NULL. */
FOREBAY_API int forebay_step_read(forebay_step_reader* step,
                                  const forebay_block* block,
                                  void* data,
                                  forebay_request** request,
                                  forebay_error* error);

/* Returns FOREBAY_OK if less than index + 1 damages of the step were found when it was opened. Else
   returns the failure of damage number `index`, from 0: a missing file, an incomplete index, ... */
FOREBAY_API int forebay_step_damage(const forebay_step_reader* step,
                                    size_t index,
                                    forebay_error* error);

/* Frees the handle. */
FOREBAY_API void forebay_step_close(forebay_step_reader* step);

#endif
