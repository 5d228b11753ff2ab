// SPDX-License-Identifier: Apache-2.0
// The time of day, for people and other programs: when a step was written, since when a program
// holds a dataset. It may jump; waits use a Clock (clock.hpp).
#pragma once

#include <chrono>
#include <cstdint>

namespace forebay {

/// Nanoseconds since 1970, UTC.
inline std::uint64_t wall_clock_ns() noexcept {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace forebay
