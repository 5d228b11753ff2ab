// SPDX-License-Identifier: Apache-2.0
// Where the issuer of a backend without a ring sleeps: until somebody rings, a watched descriptor
// is readable or the deadline has passed. It takes the place of a condition variable, which cannot
// wait for a descriptor.
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

/// Limit of an issuer's sleep while rings are refused.
inline constexpr std::chrono::milliseconds kIssuerSleepUnrung{1};

/// Limit of sleep number `sleeps` (from 0) of one wait, which bounds the delay by a ring that the
/// system refuses. It doubles, so that an idle issuer costs next to nothing.
constexpr std::chrono::milliseconds issuer_sleep_limit(unsigned sleeps) noexcept {
  return std::chrono::milliseconds{500} * (1U << std::min(sleeps, 4U));
}
static_assert(issuer_sleep_limit(0) == std::chrono::milliseconds{500});
static_assert(issuer_sleep_limit(~0U) == std::chrono::seconds{8});

/// What the issuer waits for is guarded by a mutex of the backend, as with a condition variable.
/// All but ring() belongs to the issuer.
class IssuerBell {
 public:
  IssuerBell() = default;
  IssuerBell(const IssuerBell&) = delete;
  IssuerBell& operator=(const IssuerBell&) = delete;

  /// Must succeed before anything else is called. Fails with kLimit if there are no descriptors.
  Status open();

  /// See Backend::watch() and Backend::take_watched().
  Status watch(int descriptor);
  bool take_watched() noexcept { return std::exchange(fired_, false); }

  /// Ends the sleep of an issuer that sleeps. After a change of what it waits for, which was made
  /// under the mutex. Any thread; costs a system call only if it does sleep. If the system refuses
  /// that call, the sleep ends by issuer_sleep_limit().
  void ring() noexcept;

  /// Sleeps until `is_due()`, called under `lock`, is true, the watched descriptor is readable or
  /// the deadline has passed. Looks at the watched descriptor in every case.
  template <class Due>
  void wait(std::unique_lock<std::mutex>& lock, Deadline deadline, Due is_due) {
    bool ends = is_due();
    if (ends && watched_ < 0) return;
    unsigned sleeps = 0;
    do {
      asleep_.store(!ends);
      lock.unlock();
      const bool late = sleep(ends ? Deadline{kDoNotBlock} : deadline, sleeps++);
      lock.lock();
      asleep_.store(false);
      ends = ends || late || fired_ || is_due();
    } while (!ends);
  }

 private:
  bool sleep(Deadline deadline, unsigned sleeps) noexcept;

  Descriptor bell_;
  int watched_ = -1;
  bool fired_ = false;  ///< seen readable, not told yet
  std::atomic<bool> asleep_{false};
  std::atomic<bool> is_refused_{false};  ///< the last ring was: sleeps are short
};

/// Success if `descriptor` is open and can be waited for. What Backend::watch() refuses.
Status check_watchable(int descriptor);

}  // namespace forebay::storage
