// SPDX-License-Identifier: Apache-2.0
// SessionTuner: tries plans in the sessions that a program opens one after the other, as in a loop
// over files or steps, and then uses the fastest (ReadPlan::tune). Each session is a measurement
// that costs nothing extra, because its bytes do not depend on its plan.
#pragma once

#include <forebay/read_plan.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/clock.hpp"
#include "read/plan.hpp"

namespace forebay {

/// Thread-safe. Ends before the sessions that it has planned, or after them.
class SessionTuner {
 public:
  /// `clock` must outlive the sessions.
  explicit SessionTuner(const Clock& clock = SteadyClock::shared()) : clock_(clock) {}

  /// The plan of the next session, complete, and what to call when it is closed.
  struct Trial {
    ReadPlan plan;
    /// Receives the bytes that were delivered to the tasks. Any thread. If it is destroyed without
    /// a call, the session did not open, and the trial ends without a measurement.
    std::function<void(std::uint64_t bytes_served)> on_closed;
  };

  /// Values that `requested` sets do not change. Fails as plan_read().
  Result<Trial> next(const ReadFacts& facts, const ReadPlan& requested);

 private:
  class Loop;
  using LoopKey = std::array<std::uint64_t, 10>;
  static LoopKey key_of(const ReadFacts& facts, const ReadPlan& requested, const ReadPlan& usual);

  const Clock& clock_;
  std::mutex mutex_;
  std::map<LoopKey, std::shared_ptr<Loop>> loops_;
};

}  // namespace forebay
