// SPDX-License-Identifier: Apache-2.0
// Time as something that is handed in, so that deadlines and back-off can be tested without
// sleeping. Everything that waits in Forebay takes a Deadline on the steady clock.
#pragma once

#include <chrono>
#include <optional>

namespace forebay {

using TimePoint = std::chrono::steady_clock::time_point;

/// Until when a call may block; no value: for ever. A time in the past means "do not block at all".
using Deadline = std::optional<TimePoint>;

/// The Deadline of a call that must not block.
inline constexpr TimePoint kDoNotBlock{};

/// Tells the time. Implementations may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const noexcept = 0;
};

/// The system's monotonic clock. Has no state, so one object serves all.
class SteadyClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
  static const SteadyClock& shared() noexcept;
};

}  // namespace forebay
