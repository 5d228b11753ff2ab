// SPDX-License-Identifier: Apache-2.0
// Measures when tasks start to compute, and their processor time. On a busy machine the wall clock
// would also count time in which a task's thread does not run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace forebay::tipsy {

/// Sums the processor time of tasks. Thread-safe.
class CpuTimer {
 public:
  using Clock = std::chrono::steady_clock;

  /// The calling thread computes from construction to destruction; both must happen on that thread.
  class Scope {
   public:
    explicit Scope(CpuTimer& meter) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CpuTimer& meter_;
    const std::int64_t start_cpu_ns_;
  };

  /// Call these two when no Scope exists any more. first_start() is the epoch if no Scope ever
  /// existed.
  Clock::time_point first_start() const noexcept { return first_start_; }
  double cpu_time_s() const noexcept;

 private:
  std::atomic<bool> has_started_{false};
  Clock::time_point first_start_;
  std::atomic<std::int64_t> cpu_time_ns_{0};
};

}  // namespace forebay::tipsy
