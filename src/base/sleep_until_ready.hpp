// SPDX-License-Identifier: Apache-2.0
// The system calls in which threads sleep. If one fails at once, its loop would spin; instead it
// pauses shortly, and the loop tests its conditions again.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include <poll.h>

namespace forebay {

/// Sleeps for one millisecond, in place of a sleeping call that failed.
void sleep_after_failure() noexcept;

/// As ppoll(): sleeps until an entry is ready or `limit` has passed. An absent limit means none; a
/// negative one is zero. Returns the number of ready entries. Signals and failures return 0 and set
/// `revents` to 0.
std::size_t sleep_until_ready(std::span<pollfd> entries,
                              std::optional<std::chrono::nanoseconds> limit) noexcept;

/// The same with a limit as of poll(); -1 means none.
inline std::size_t sleep_until_ready_ms(std::span<pollfd> entries, int limit_ms) noexcept {
  std::optional<std::chrono::nanoseconds> limit;
  if (limit_ms >= 0) limit = std::chrono::milliseconds(limit_ms);
  return sleep_until_ready(entries, limit);
}

}  // namespace forebay
