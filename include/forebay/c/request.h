/* SPDX-License-Identifier: Apache-2.0 */
/* C interface of Forebay: operations that continue after the call that started them. As MPI_Request
   and its functions. */
#ifndef FOREBAY_C_REQUEST_H
#define FOREBAY_C_REQUEST_H

#include <forebay/c/base.h>

/* An operation in progress. A function with the argument `request` starts one and returns at once.
   With NULL in its place, the function blocks until the operation has finished, and returns its
   status.

   Memory that the operation fills must stay valid until the request is finished, cancelled or
   freed. It is written only inside the function that starts the request and inside functions on the
   request, never by another thread. A finished request keeps its status until it is freed. */
typedef struct forebay_request forebay_request;

/* Stores in `is_done` whether the operation has finished. Returns its status if so, else
   FOREBAY_OK. Never blocks. A loop of calls completes any request. */
FOREBAY_API int forebay_request_test(forebay_request* request, bool* is_done, forebay_error* error);

/* Blocks until the operation has finished, at most `timeout_ns` nanoseconds; negative: without
   limit. Stores in `is_done`, which may be NULL, whether it has finished. Returns its status if so.
   Otherwise returns FOREBAY_OK, or FOREBAY_LIMIT if `is_done` is NULL. */
FOREBAY_API int forebay_request_wait(forebay_request* request,
                                     int64_t timeout_ns,
                                     bool* is_done,
                                     forebay_error* error);

/* Blocks until all operations have finished. Entries that are NULL are skipped. Returns the first
   failure in the order of the array; the status of each is returned by forebay_request_test(). */
FOREBAY_API int forebay_request_wait_all(forebay_request* const* requests,
                                         size_t count,
                                         forebay_error* error);

/* Stores in `descriptor` a file descriptor for poll(2), epoll(7) and event loops. It is readable
   when forebay_request_test() may make progress, and sometimes without progress. The request owns
   it. Fails with FOREBAY_LIMIT if no descriptor is left. */
FOREBAY_API int forebay_request_event_fd(forebay_request* request,
                                         int* descriptor,
                                         forebay_error* error);

/* Cancels a read that has not finished: its status becomes FOREBAY_CANCELLED, and its memory is not
   written afterwards. A finished request keeps its status. A commit continues; only its receipt is
   lost. */
FOREBAY_API int forebay_request_cancel(forebay_request* request, forebay_error* error);

/* Frees a request, and cancels it before if it has not finished. */
FOREBAY_API void forebay_request_free(forebay_request* request);

#endif
