// SPDX-License-Identifier: Apache-2.0
// Detects the death of another process. End of file on a socket is not enough: a child that it
// forked may hold the socket open without limit.
#pragma once

#include <forebay/error.hpp>

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace forebay::shm {

/// A descriptor that becomes readable when process `pid` has ended for any reason. Fails with
/// kNotFound if there is no such process (any more), with kUnsupported if the kernel has no such
/// descriptors (before Linux 5.3). Process numbers are reused some time after a process has ended:
/// call this while something else, such as its Channel, still proves that it lives.
Result<Descriptor> watch_process(pid_t pid);

}  // namespace forebay::shm
