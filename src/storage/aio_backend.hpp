// SPDX-License-Identifier: Apache-2.0
// The backend on POSIX AIO, for comparison: what a program gets that is written to <aio.h>, behind
// the same interface as the others. Chosen by name alone. <aio.h> is known to aio_backend.cpp.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <memory>

#include "storage/backend.hpp"

namespace forebay::storage {

/// Files need a descriptor. glibc works on one operation of a descriptor at a time, in the order of
/// submission, and on those of 20 descriptors in the whole process, unless the application has
/// called aio_init(). Beside each of its threads, which come and go, stands one of ours that waits;
/// docs/decisions/0008-how-posix-aio-is-awaited.md says why. Neither takes signals.
///
/// Fails with kLimit if the system has no thread left for the first descriptor. Without one for a
/// later descriptor, its completions may be noticed only after those of another. If glibc has no
/// thread or memory, operations complete with EAGAIN. The destructor waits for all operations that
/// were submitted: none is cancelled, for the reason given there.
Result<std::unique_ptr<Backend>> make_aio_backend(std::size_t queue_depth);

}  // namespace forebay::storage
