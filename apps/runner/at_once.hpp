// SPDX-License-Identifier: Apache-2.0
// A loop whose turns are taken by several threads at once, whichever is free.
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

/// What leaves a thread as an exception ends the program.
template <class Work>
Status without_throwing(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "take memory",
                    .error_number = ENOMEM,
                    .cause = "there is none left; use fewer threads"});
  }
}

/// Calls `work(i, worker)` for each i below `count`, in rising order of beginning; `worker` is
/// below `workers`, and no two calls of one worker are at once. The first Error ends it and is
/// given back when all workers have come back; that there is no memory is one (kLimit).
template <class Work>
Status for_each_at_once(std::uint64_t count, unsigned workers, const Work& work) {
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::optional<Error> error;  // the first; guarded by mutex
  const auto run = [&](unsigned worker) {
    for (std::uint64_t i = next++; i < count; i = next++) {
      const Status done = without_throwing([&] { return work(i, worker); });
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (!error) error = done.error();
      next = count;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < workers && i < count; ++i)
      helpers.emplace_back(run, i);
    run(0);
  }
  if (error) return failure(*error);
  return {};
}

}  // namespace forebay::runner
