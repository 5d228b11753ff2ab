// SPDX-License-Identifier: Apache-2.0
#include "base/sleep_until_ready.hpp"

#include <algorithm>
#include <ctime>

namespace forebay {

void pause_after_refusal() noexcept {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
  ::nanosleep(&kPause, nullptr);
}

std::size_t sleep_until_ready(std::span<pollfd> entries,
                              std::optional<std::chrono::nanoseconds> limit) noexcept {
  timespec left{};
  if (limit) {
    const auto at_least_none = std::max(*limit, std::chrono::nanoseconds(0));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at_least_none);
    left = {.tv_sec = seconds.count(), .tv_nsec = (at_least_none - seconds).count()};
  }
  const int ready = ::ppoll(entries.data(), entries.size(), limit ? &left : nullptr, nullptr);
  if (ready >= 0) return static_cast<std::size_t>(ready);
  for (pollfd& entry : entries)
    entry.revents = 0;
  pause_after_refusal();
  return 0;
}

}  // namespace forebay
