/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of Forebay, for C11 and languages that call C. docs/guides/c.md introduces it.
   <forebay_mpi.h> adds the ranks of an MPI job.

   Rules for all functions:
   - A function that can fail returns a status: FOREBAY_OK (0) or the class of the failure. It fills
     `error`, the last argument, which may be NULL. No function prints, exits, throws or sets errno.
   - NULL where a handle or a pointer is required is FOREBAY_INVALID_ARGUMENT. An argument may be
     NULL only where its comment states that.
   - Functions that make a handle store it in their second last argument, and NULL if they fail.
     A function named close, free, destroy, release or abort ends a handle; NULL has no effect.
   - Each handle keeps the objects alive from which it was made. The runtime ends with its last
     handle. Views, output buffers and adoptable buffers are an exception: release them before.
   - Functions may be called from any thread. A request, a step that is written, a view and an
     output buffer are used by one thread at a time. Collective functions are called from one thread
     at a time, by all compute ranks in the same order. The comments name these functions.
   - Texts are UTF-8 with a final zero. Paths may have any other bytes.
   - A struct with a member `size` begins as FOREBAY_INIT(type), so it may grow in later versions.
     Options that are zero or NULL have defaults: the library chooses.
   - In a child of fork(), calls on handles of the parent fail with FOREBAY_CLOSED. */
#ifndef FOREBAY_H
#define FOREBAY_H

#include <forebay/c/base.h>
#include <forebay/c/dataset.h>
#include <forebay/c/request.h>
#include <forebay/c/session.h>
#include <forebay/c/stream.h>

#endif
