// SPDX-License-Identifier: Apache-2.0
// Learning of another process's death. End of file on a socket is not enough: a child that it
// forked may hold the socket open for ever.
#pragma once

#include <forebay/error.hpp>

#include <sys/types.h>

#include "base/descriptor.hpp"

namespace forebay::shm {

/// A descriptor that becomes readable when process `pid` has ended, however it ended. Fails with
/// kNotFound if there is no such process (any more), kUnsupported where the kernel has no such
/// descriptors (before Linux 5.3). A number is used again some time after a process has ended: ask
/// while something else, such as its Channel, still tells that it lives.
Result<Descriptor> watch_process(pid_t pid);

}  // namespace forebay::shm
