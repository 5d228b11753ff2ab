// SPDX-License-Identifier: Apache-2.0
// Service threads of Forebay. They must not take signals of the program, have names in a list of
// threads, and may be refused by the system. A refusal is an Error, not an exception.
#pragma once

#include <forebay/error.hpp>

#include <functional>
#include <thread>

namespace forebay {

/// Starts a thread that runs `work` with all signals blocked, on service_processors(). `name` has
/// at most 15 characters. Fails with kLimit, naming the thread, if the system can create no more.
Result<std::thread> start_service_thread(const char* name, std::function<void()> work);

/// Makes the calling thread wait for a free core or its time slice after a wake-up, instead of
/// preempting the thread that woke it. For threads that compute for longer than others can wait.
/// Best effort (Linux: SCHED_BATCH): no effect if the system refuses or the user has chosen a
/// policy.
void use_batch_scheduling() noexcept;

/// Makes the calling thread run only while a processor is idle (Linux: SCHED_IDLE). Without
/// privileges there is no way back. The thread must hold no lock that others wait for. Returns 0,
/// or the errno of the refusal.
int use_idle_scheduling() noexcept;

}  // namespace forebay
