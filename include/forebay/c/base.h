/* SPDX-License-Identifier: Apache-2.0 */
/* C interface of Forebay: version, status codes, errors, and values that all parts share. Included
   by <forebay.h>, which also states the rules for all functions. */
#ifndef FOREBAY_C_BASE_H
#define FOREBAY_C_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define FOREBAY_API extern "C" __attribute__((visibility("default")))
/* Initializes a struct that has a `size`: all other members are zero. */
#define FOREBAY_INIT(type) {sizeof(type)}
#else
#define FOREBAY_API __attribute__((visibility("default")))
#define FOREBAY_INIT(type) {.size = sizeof(type)}
#endif

/* Version of the header. Within a major version, functions, enumerators and members are added and
   never changed. */
#define FOREBAY_VERSION_MAJOR 1
#define FOREBAY_VERSION_MINOR 0
#define FOREBAY_VERSION_PATCH 0

/* Version of the library at run time, such as "1.0.0". Never freed. */
FOREBAY_API const char* forebay_version(void);

/* Status of a call: FOREBAY_OK, or the class of the failure, for a program to branch on. */
enum {
  FOREBAY_OK = 0,
  FOREBAY_INVALID_ARGUMENT = 1, /* the arguments are invalid; also a NULL that is not permitted */
  FOREBAY_NOT_FOUND = 2,        /* the file, dataset, step, field or part does not exist */
  FOREBAY_EXISTS = 3,           /* the dataset has steps, which are unchanged */
  FOREBAY_PERMISSION = 4,       /* refused by the system, or the dataset is open for writing */
  FOREBAY_IO = 5,               /* the device or file system failed (EIO and similar) */
  FOREBAY_NO_SPACE = 6,         /* ENOSPC, EDQUOT */
  FOREBAY_SHORT_FILE = 7,       /* the file ended before bytes that it had when it was opened */
  FOREBAY_OUT_OF_RANGE = 8,     /* an offset outside the session, the file or the array */
  FOREBAY_DAMAGE = 9,           /* the bytes exist and violate the format */
  FOREBAY_CANCELLED = 10,       /* the program cancelled the request */
  FOREBAY_CLOSED = 11,          /* what serves the request has ended, or its step was dropped */
  FOREBAY_LIMIT = 12,           /* memory, descriptors or a timeout is exhausted */
  FOREBAY_UNSUPPORTED = 13,     /* not possible on this file, kernel or build */
  FOREBAY_EXCEPTION = 14        /* an error inside the library; the message has its text */
};

/* Name of a status: "ok", "invalid-argument", "not-found", ..., "unknown". Never freed. */
FOREBAY_API const char* forebay_status_name(int status);

/* Size of the text of an error, with its final zero. */
#define FOREBAY_MESSAGE_BYTES 992

/* A failure. A function that fails fills it; one that succeeds leaves it unchanged. The library
   never reads it, so it needs no initial value. */
typedef struct forebay_error {
  int status;       /* as returned */
  int error_number; /* errno of the failed system call; 0: none failed */
  int64_t rank;     /* number of the rank that failed; -1: unknown */
  int64_t offset;   /* from the start of the file, in bytes; -1: unknown */
  /* One line of UTF-8: operation, path, offset, cause, what to do. Cut at a character. */
  char message[FOREBAY_MESSAGE_BYTES];
} forebay_error;

/* "To the end", as the size of the extent of a session. */
#define FOREBAY_ALL UINT64_MAX

/* A half-open range of bytes of a file; `offset` counts from the start of the file. */
typedef struct forebay_range {
  uint64_t offset;
  uint64_t size;
} forebay_range;

typedef struct forebay_range_list {
  const forebay_range* ranges; /* may be NULL if count is 0 */
  size_t count;
} forebay_range_list;

/* How bytes move between storage and memory. */
enum {
  FOREBAY_ACCESS_AUTO = 0,     /* chosen for each file */
  FOREBAY_ACCESS_BUFFERED = 1, /* through the page cache */
  FOREBAY_ACCESS_DIRECT = 2    /* past it (O_DIRECT) */
};

/* Type of an element of an array. */
enum {
  FOREBAY_INT8 = 1,
  FOREBAY_INT16 = 2,
  FOREBAY_INT32 = 3,
  FOREBAY_INT64 = 4,
  FOREBAY_UINT8 = 5,
  FOREBAY_UINT16 = 6,
  FOREBAY_UINT32 = 7,
  FOREBAY_UINT64 = 8,
  FOREBAY_FLOAT16 = 9,
  FOREBAY_FLOAT32 = 10,
  FOREBAY_FLOAT64 = 11,
  FOREBAY_COMPLEX64 = 12,  /* two float32 */
  FOREBAY_COMPLEX128 = 13, /* two float64 */
  FOREBAY_BYTES = 14,      /* untyped; an element is one byte */
  FOREBAY_TEXT = 15        /* of attributes only: UTF-8 */
};

/* Order of the elements of an array. */
enum {
  FOREBAY_ORDER_C = 0,      /* the last index varies fastest */
  FOREBAY_ORDER_FORTRAN = 1 /* the first index varies fastest */
};

#endif
