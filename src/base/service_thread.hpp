// SPDX-License-Identifier: Apache-2.0
// Threads that Forebay starts for itself. A library's threads must not take the signals of the
// program they live in, should be told apart in a list of threads, and are refused by the system at
// times: that is an error, not an exception out of the blue.
#pragma once

#include <forebay/error.hpp>

#include <functional>
#include <thread>

namespace forebay {

/// Starts a thread that runs `work` with all signals blocked, on service_processors(). `name` has
/// 15 characters at most. Fails with kLimit, naming the thread, if the system has none left.
Result<std::thread> start_service_thread(const char* name, std::function<void()> work);

/// The calling thread waits for a free core, or its turn, when it wakes up, in place of taking the
/// core of who woke it. For threads that compute for longer than others can wait. No more than a
/// wish (Linux: SCHED_BATCH): nothing changes where the system refuses, or the user has chosen.
void interrupt_nobody() noexcept;

}  // namespace forebay
