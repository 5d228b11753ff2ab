// SPDX-License-Identifier: Apache-2.0
// Backend on POSIX AIO, for comparison: the behavior of a program on <aio.h>, behind the same
// interface as the other backends. Used by name only. Only aio_backend.cpp includes <aio.h>.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <memory>

#include "storage/backend.hpp"

namespace forebay::storage {

/// Files need a descriptor. glibc executes one operation of a descriptor at a time, in the order of
/// submission. In the whole process it works on 20 descriptors at a time, unless the application
/// has called aio_init(). For each descriptor in use, one thread of this backend waits until the
/// end of the backend; threads of glibc come and go. Both kinds block all signals.
/// docs/decisions/0008-how-posix-aio-is-awaited.md has the reason.
///
/// Fails with kLimit if the system has no thread left for the first descriptor. Without a thread
/// for a later descriptor, its completions may be reported only after those of another. If glibc
/// has no thread or memory, operations complete with EAGAIN. The destructor waits for all submitted
/// operations: none is canceled, for the reason given there.
Result<std::unique_ptr<Backend>> make_aio_backend(std::size_t queue_depth);

}  // namespace forebay::storage
