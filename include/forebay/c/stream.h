/* SPDX-License-Identifier: Apache-2.0 */
/* C interface of Forebay: output streams, which write files behind the computation. */
#ifndef FOREBAY_C_STREAM_H
#define FOREBAY_C_STREAM_H

#include <forebay/c/base.h>
#include <forebay/c/session.h>

/* A stream over any number of files. The first error is permanent: all later calls return it. */
typedef struct forebay_stream forebay_stream;
/* A file of a stream. Offsets count from its start. */
typedef struct forebay_output_file forebay_output_file;

/* Memory and requests of a stream. */
typedef struct forebay_stream_plan {
  size_t size;
  int access;               /* FOREBAY_ACCESS_... */
  uint32_t buffers;         /* number of buffers; default 2 */
  uint64_t buffer_bytes;    /* size of a buffer, from 4 KiB to 1 GiB; default 16 MiB */
  uint64_t request_bytes;   /* size of a request to storage, a multiple of 4 KiB */
  uint64_t in_flight_bytes; /* limit for each device */
  uint32_t queue_depth;     /* limit of requests in flight for each device */
} forebay_stream_plan;

/* Creates a stream and allocates its buffers. `plan` may be NULL. Fails with
   FOREBAY_INVALID_ARGUMENT for a plan that cannot work, and with FOREBAY_LIMIT if memory is
   exhausted. Not collective. */
FOREBAY_API int forebay_stream_create(forebay_runtime* runtime,
                                      const forebay_stream_plan* plan,
                                      forebay_stream** stream,
                                      forebay_error* error);

/* When a new file is visible under its name. */
enum {
  FOREBAY_VISIBLE_IMMEDIATELY = 0,
  FOREBAY_VISIBLE_ON_PUBLISH = 1 /* from forebay_output_file_publish() on */
};

/* What happens to the content of an existing file. */
enum {
  FOREBAY_REPLACE_CONTENT = 0, /* the written file begins empty */
  FOREBAY_KEEP_CONTENT = 1     /* it stays where nothing is written; implies `is_shared` */
};

typedef struct forebay_output_file_options {
  size_t size;
  int visibility;          /* FOREBAY_VISIBLE_... */
  int existing_content;    /* FOREBAY_..._CONTENT */
  bool is_shared;          /* other processes also write the file: it is never shortened */
  uint64_t expected_bytes; /* if known: reserved before the first byte is written */
} forebay_output_file_options;

/* Creates a file, or opens an existing one. `options` may be NULL. Blocks as open(2) does. Fails
   with FOREBAY_NOT_FOUND (the directory), FOREBAY_PERMISSION, FOREBAY_UNSUPPORTED (no direct
   access), FOREBAY_NO_SPACE, ... These failures do not affect the stream. */
FOREBAY_API int forebay_stream_create_file(forebay_stream* stream,
                                           const char* path,
                                           const forebay_output_file_options* options,
                                           forebay_output_file** file,
                                           forebay_error* error);

/* A buffer of a stream, owned by the program until it is submitted or released. Must not be
   copied. */
typedef struct forebay_output_buffer {
  void* data; /* NULL if empty; the content is undefined */
  uint64_t size;
  void* storage[6];
} forebay_output_buffer;

/* Stores a free buffer in `buffer`, whose former content is ignored. Blocks until one is free. If
   `file` is not NULL, the address suits bytes that will be written at `offset`. A thread that holds
   all buffers blocks without limit. */
FOREBAY_API int forebay_stream_acquire(forebay_stream* stream,
                                       const forebay_output_file* file,
                                       uint64_t offset,
                                       forebay_output_buffer* buffer,
                                       forebay_error* error);

/* Submits a buffer: its first range.size bytes are written at range.offset of the file. Returns at
   once. The stream owns the buffer afterwards, also on failure, and `buffer` is empty. Fails with
   FOREBAY_OUT_OF_RANGE if the buffer is smaller. */
FOREBAY_API int forebay_stream_submit(forebay_stream* stream,
                                      forebay_output_buffer* buffer,
                                      const forebay_output_file* file,
                                      forebay_range range,
                                      forebay_error* error);

/* Returns a buffer to its stream unwritten; no effect on an empty one. */
FOREBAY_API void forebay_output_buffer_release(forebay_output_buffer* buffer);

/* Writes memory of the program: copies it through buffers of the stream, and blocks until they are
   free. `data` may be reused when the call returns. */
FOREBAY_API int forebay_stream_write(forebay_stream* stream,
                                     const forebay_output_file* file,
                                     forebay_range range,
                                     const void* data,
                                     forebay_error* error);

/* Waits until all earlier submissions are written: other programs see the bytes, a power failure
   may lose them. */
FOREBAY_API int forebay_stream_drain(forebay_stream* stream, forebay_error* error);

/* Drains the stream, then makes everything written durable, with the names of new files. */
FOREBAY_API int forebay_stream_sync(forebay_stream* stream, forebay_error* error);

/* Cancels the stream: waits on any thread and later calls return FOREBAY_CANCELLED. Requests that
   storage has received are finished. */
FOREBAY_API int forebay_stream_cancel(forebay_stream* stream, forebay_error* error);

/* Syncs the file, then gives it its name durably. Call once. With FOREBAY_VISIBLE_IMMEDIATELY it
   only syncs. After an error the file is not published. */
FOREBAY_API int forebay_output_file_publish(forebay_output_file* file, forebay_error* error);

/* Frees the handle. The file is closed by the next drain. */
FOREBAY_API void forebay_output_file_close(forebay_output_file* file);

/* Drains the stream, and frees its handle in any case. Returns the first error of the stream. */
FOREBAY_API int forebay_stream_close(forebay_stream* stream, forebay_error* error);

#endif
