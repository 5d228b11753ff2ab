// SPDX-License-Identifier: Apache-2.0
// What a thread that stands for hardware asks of the system: to be woken when it wants to, before
// programs that compute.
#pragma once

namespace forebay::emufs {

/// Wakes without slack and, where it is allowed, before all ordinary threads. Of this thread.
void prefer_this_thread() noexcept;

}  // namespace forebay::emufs
