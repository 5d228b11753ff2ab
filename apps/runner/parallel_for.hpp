// SPDX-License-Identifier: Apache-2.0
// A parallel loop: each iteration runs on the next free thread.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <vector>

namespace forebay::runner {

/// Returns kLimit for std::bad_alloc. An exception that leaves a thread would end the program.
template <class Work>
Status catch_bad_alloc(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "allocate memory",
                    .error_number = ENOMEM,
                    .cause = "no memory is left; use fewer threads"});
  }
}

/// Calls `work(i, worker)` for each i below `count`; calls start in ascending order of i. `worker`
/// is below `workers`, and calls of one worker never overlap. Blocks until all workers have ended.
/// The first Error stops the loop and is returned; std::bad_alloc counts as an Error (kLimit).
template <class Work>
Status parallel_for(std::uint64_t count, unsigned workers, const Work& work) {
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::optional<Error> error;  // guarded by mutex
  const auto run = [&](unsigned worker) {
    for (std::uint64_t i = next++; i < count; i = next++) {
      const Status done = catch_bad_alloc([&] { return work(i, worker); });
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (!error) error = done.error();
      next = count;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < workers && i < count; ++i)
      threads.emplace_back(run, i);
    run(0);
  }
  if (error) return failure(*error);
  return {};
}

}  // namespace forebay::runner
