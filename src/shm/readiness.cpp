// SPDX-License-Identifier: Apache-2.0
#include "shm/readiness.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <poll.h>

#include "base/assert.hpp"
#include "base/sleep_until_ready.hpp"

namespace forebay::shm {

namespace {

/// Limit of one sleep, so that any deadline fits a timespec.
constexpr std::chrono::nanoseconds kSleepMax = std::chrono::hours(1);

std::chrono::nanoseconds time_left(const Deadline& deadline) noexcept {
  if (!deadline) return kSleepMax;
  // Compares points in time: kDoNotBlock is so far in the past that a difference may overflow.
  const TimePoint now = SteadyClock::shared().now();
  if (*deadline <= now) return std::chrono::nanoseconds(0);
  return std::min<std::chrono::nanoseconds>(*deadline - now, kSleepMax);
}

/// True if one of the entries is ready, false if the deadline passed.
bool poll_until(std::span<pollfd> entries, const Deadline& deadline) noexcept {
  for (;;) {
    if (sleep_until_ready(entries, time_left(deadline)) > 0) return true;
    if (deadline && *deadline <= SteadyClock::shared().now()) return false;
  }
}

}  // namespace

std::optional<std::size_t> wait_readable(std::span<const int> descriptors,
                                         Deadline deadline) noexcept {
  FOREBAY_ASSERT(descriptors.size() <= kWaitDescriptorsMax);
  std::array<pollfd, kWaitDescriptorsMax> entries{};
  for (std::size_t i = 0; i < descriptors.size(); ++i)
    entries[i] = {.fd = descriptors[i], .events = POLLIN, .revents = 0};
  if (!poll_until(std::span(entries).first(descriptors.size()), deadline)) return std::nullopt;
  const auto first = std::find_if(entries.begin(), entries.end(),
                                  [](const pollfd& entry) { return entry.revents != 0; });
  return static_cast<std::size_t>(first - entries.begin());
}

bool wait_writable(int descriptor, Deadline deadline) noexcept {
  pollfd entry{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return poll_until({&entry, 1}, deadline);
}

}  // namespace forebay::shm
