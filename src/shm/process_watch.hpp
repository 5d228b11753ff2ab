// SPDX-License-Identifier: Apache-2.0
// Detects the death of another process. End of file on a socket is not enough: a child that it
// forked may hold the socket open without limit.
#pragma once

#include <forebay/error.hpp>

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace forebay::shm {

/// A descriptor that becomes readable when process `pid` has ended for any reason. Fails with
/// kNotFound if no such process exists (any more), with kUnsupported if the kernel has no such
/// descriptors (before Linux 5.3). The kernel reuses the numbers of ended processes. So call this
/// while something else, such as an open Channel, proves that the process lives.
Result<Descriptor> watch_process(pid_t pid);

}  // namespace forebay::shm
