// SPDX-License-Identifier: Apache-2.0
// The system calls in which threads sleep. One that fails at once would make its loop spin: a
// failure takes a short pause instead, and the loop looks at its conditions again.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include <poll.h>

namespace forebay {

/// Sleeps for a millisecond, in place of a call that was to sleep and failed.
void pause_after_refusal() noexcept;

/// As ppoll(): sleeps until an entry is ready or `limit` has passed; absent: without a limit, and
/// below zero as zero. Returns how many are ready. Signals and failures, for which `revents` are 0,
/// count as none.
std::size_t sleep_until_ready(std::span<pollfd> entries,
                              std::optional<std::chrono::nanoseconds> limit) noexcept;

/// The same with a limit as poll() has it: -1: none.
inline std::size_t sleep_until_ready_ms(std::span<pollfd> entries, int limit_ms) noexcept {
  std::optional<std::chrono::nanoseconds> limit;
  if (limit_ms >= 0) limit = std::chrono::milliseconds(limit_ms);
  return sleep_until_ready(entries, limit);
}

}  // namespace forebay
