// SPDX-License-Identifier: Apache-2.0
#include "base/sleep_until_ready.hpp"

#include <algorithm>
#include <ctime>

namespace forebay {

void sleep_after_failure() noexcept {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
  ::nanosleep(&kPause, nullptr);
}

std::size_t sleep_until_ready(std::span<pollfd> entries,
                              std::optional<std::chrono::nanoseconds> limit) noexcept {
  timespec left{};
  if (limit) {
    const auto nonnegative = std::max(*limit, std::chrono::nanoseconds(0));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(nonnegative);
    left = {.tv_sec = seconds.count(), .tv_nsec = (nonnegative - seconds).count()};
  }
  const int ready = ::ppoll(entries.data(), entries.size(), limit ? &left : nullptr, nullptr);
  if (ready >= 0) return static_cast<std::size_t>(ready);
  for (pollfd& entry : entries)
    entry.revents = 0;
  sleep_after_failure();
  return 0;
}

}  // namespace forebay
