// SPDX-License-Identifier: Apache-2.0
// When tasks computed, and how much processor time they took for it. Processor time, because on a
// busy machine the wall clock also counts when a task's thread was not running at all.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace forebay::tipsy {

/// Adds up what tasks compute. Thread-safe.
class ComputeMeter {
 public:
  using Clock = std::chrono::steady_clock;

  /// From its making to its end the calling thread computes; both happen on that thread.
  class Spell {
   public:
    explicit Spell(ComputeMeter& meter) noexcept;
    ~Spell();
    Spell(const Spell&) = delete;
    Spell& operator=(const Spell&) = delete;

   private:
    ComputeMeter& meter_;
    const std::int64_t start_cpu_ns_;
  };

  /// Read these two when nobody computes any more. The first is the epoch if nobody did.
  Clock::time_point first() const noexcept { return first_; }
  double spent_cpu_s() const noexcept;

 private:
  std::atomic<bool> seen_{false};
  Clock::time_point first_;
  std::atomic<std::int64_t> spent_cpu_ns_{0};
};

}  // namespace forebay::tipsy
