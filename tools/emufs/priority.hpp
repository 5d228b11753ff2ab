// SPDX-License-Identifier: Apache-2.0
// Scheduling of threads that emulate hardware: they wake on time, before programs that compute.
#pragma once

namespace forebay::emufs {

/// Sets the calling thread's timer slack to its minimum and, where permitted, its priority above
/// all ordinary threads.
void raise_thread_priority() noexcept;

}  // namespace forebay::emufs
