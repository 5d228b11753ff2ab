// SPDX-License-Identifier: Apache-2.0
// IssuerWakeup: the issuer of a backend without a ring sleeps here until notify(), a readable
// watched descriptor or the deadline. It replaces a condition variable, which cannot wait for a
// descriptor.
#pragma once

#include <forebay/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace forebay::storage {

/// Limit of an issuer's sleep after a failed notify().
inline constexpr std::chrono::milliseconds kIssuerSleepAfterFailure{1};

/// Limit of sleep number `sleeps` (from 0) of one wait. It bounds the delay by a notify() whose
/// system call fails. It doubles, so that an idle issuer costs almost nothing.
constexpr std::chrono::milliseconds issuer_sleep_limit(unsigned sleeps) noexcept {
  return std::chrono::milliseconds{500} * (1U << std::min(sleeps, 4U));
}
static_assert(issuer_sleep_limit(0) == std::chrono::milliseconds{500});
static_assert(issuer_sleep_limit(~0U) == std::chrono::seconds{8});

/// A mutex of the backend guards the state for which the issuer waits, as with a condition
/// variable. All calls but notify() belong to the issuer.
class IssuerWakeup {
 public:
  IssuerWakeup() = default;
  IssuerWakeup(const IssuerWakeup&) = delete;
  IssuerWakeup& operator=(const IssuerWakeup&) = delete;

  /// Must succeed before any other call. Fails with kLimit if descriptors are exhausted.
  Status open();

  /// See Backend::watch() and Backend::consume_watch_event().
  Status watch(int descriptor);
  bool consume_watch_event() noexcept { return std::exchange(is_readable_, false); }

  /// Wakes the issuer if it sleeps. Call after a change of the awaited state, which was made under
  /// the mutex. Any thread; costs a system call only if the issuer sleeps. If that call fails,
  /// issuer_sleep_limit() ends the sleep.
  void notify() noexcept;

  /// Sleeps until `is_due()`, called under `lock`, is true, the watched descriptor is readable or
  /// the deadline has passed. Checks the watched descriptor in every case.
  template <class Due>
  void wait(std::unique_lock<std::mutex>& lock, Deadline deadline, Due is_due) {
    bool ends = is_due();
    if (ends && watched_ < 0) return;
    unsigned sleeps = 0;
    do {
      is_sleeping_.store(!ends);
      lock.unlock();
      const bool late = sleep(ends ? Deadline{kDoNotBlock} : deadline, sleeps++);
      lock.lock();
      is_sleeping_.store(false);
      ends = ends || late || is_readable_ || is_due();
    } while (!ends);
  }

 private:
  bool sleep(Deadline deadline, unsigned sleeps) noexcept;

  Descriptor event_fd_;
  int watched_ = -1;
  bool is_readable_ = false;  ///< seen readable, not reported yet
  std::atomic<bool> is_sleeping_{false};
  std::atomic<bool> has_notify_failed_{false};  ///< the last notify() failed: sleeps are short
};

/// Success if `descriptor` is open and can be polled. Backend::watch() refuses others.
Status check_watchable(int descriptor);

}  // namespace forebay::storage
