// SPDX-License-Identifier: Apache-2.0
// SessionTuner: tries plans in the sessions that a program opens one after the other, as in a loop
// over files or steps, and then uses the fastest (ReadPlan::tune). Each session is a measurement
// that costs nothing extra, because its bytes do not depend on its plan.
#pragma once

#include <forebay/read_plan.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "read/plan.hpp"
#include "runtime/read_candidates.hpp"

namespace forebay {

/// Thread-safe. Ends before the sessions that it has planned, or after them.
class SessionTuner {
 public:
  /// `clock` must outlive the sessions.
  explicit SessionTuner(const Clock& clock = SteadyClock::shared()) : clock_(clock) {}

  /// What the next session tries.
  struct Trial {
    std::optional<ReadCandidate> candidate = std::nullopt;  ///< absent: the requested plan
    std::string explanation = {};                           ///< what was found so far, for people
    /// Ends the trial: receives the bytes that were delivered to the tasks when the session is
    /// closed, or no value if no session can have these values. Any thread. If it is destroyed
    /// without a call, the trial ends without a measurement. Null: nothing is measured.
    std::function<void(std::optional<std::uint64_t> bytes_served)> end = nullptr;
  };

  /// `sharing_ranks` read the session together, each a part of it.
  Trial next(const ReadFacts& facts, const ReadPlan& requested, std::uint32_t sharing_ranks = 1);

 private:
  class Loop;

  const Clock& clock_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Loop>> loops_;
};

}  // namespace forebay
