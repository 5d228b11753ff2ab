// SPDX-License-Identifier: Apache-2.0
// Clock and Deadline: time as an argument, so that deadlines and back-off can be tested without
// sleeping. Every wait in Forebay takes a Deadline on the steady clock.
#pragma once

#include <chrono>
#include <optional>

namespace forebay {

using TimePoint = std::chrono::steady_clock::time_point;

/// The time until which a call may block. No value: without limit. A time in the past: does not
/// block.
using Deadline = std::optional<TimePoint>;

/// A Deadline for calls that must not block.
inline constexpr TimePoint kDoNotBlock{};

/// Returns the current time. Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const noexcept = 0;
};

/// The system's monotonic clock. Stateless, so one object serves all.
class SteadyClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
  static const SteadyClock& shared() noexcept;
};

}  // namespace forebay
