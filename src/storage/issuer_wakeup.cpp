// SPDX-License-Identifier: Apache-2.0
// One ppoll() waits for an eventfd and for the watched descriptor. The sleeper drains the counter;
// a late notify() ends one sleep too many, which the loop in wait() handles.
#include "storage/issuer_wakeup.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <span>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/sleep_until_ready.hpp"

namespace forebay::storage {

Status IssuerWakeup::open() {
  FOREBAY_ASSERT(!event_fd_);
  event_fd_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event_fd_) return {};
  return failure(system_error({.operation = "create an event descriptor"}, errno));
}

Status IssuerWakeup::watch(int descriptor) {
  FOREBAY_ASSERT(watched_ < 0);
  if (Status checked = check_watchable(descriptor); !checked) return checked;
  watched_ = descriptor;
  return {};
}

void IssuerWakeup::notify() noexcept {
  if (!is_sleeping_.exchange(false)) return;
  const std::uint64_t one = 1;
  has_notify_failed_.store(::write(event_fd_.get(), &one, sizeof one) < 0);
}

/// One sleep, which may end without a reason; true if the deadline has passed.
bool IssuerWakeup::sleep(Deadline deadline, unsigned sleeps) noexcept {
  std::chrono::nanoseconds limit =
      has_notify_failed_.load() ? kIssuerSleepAfterFailure : issuer_sleep_limit(sleeps);
  if (deadline) {
    const TimePoint now = SteadyClock::shared().now();
    if (*deadline <= now && watched_ < 0) return true;
    limit = std::min<std::chrono::nanoseconds>(limit, std::max(*deadline, now) - now);
  }
  std::array<pollfd, 2> entries{pollfd{event_fd_.get(), POLLIN, 0}, pollfd{watched_, POLLIN, 0}};
  if (sleep_until_ready(std::span(entries).first(watched_ < 0 ? 1 : 2), limit) > 0) {
    FOREBAY_ASSERT((entries[1].revents & POLLNVAL) == 0);  // closed while it was watched
    is_readable_ = is_readable_ || entries[1].revents != 0;
    std::uint64_t notifications = 0;
    // An eventfd that cannot be drained stays readable, and ends each sleep at once.
    if (entries[0].revents != 0 &&
        ::read(event_fd_.get(), &notifications, sizeof notifications) < 0)
      sleep_after_failure();
  }
  return deadline && SteadyClock::shared().now() >= *deadline;
}

Status check_watchable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  const int ready = descriptor < 0 ? -1 : ::poll(&entry, 1, 0);
  if (ready >= 0 && (entry.revents & POLLNVAL) == 0) return {};
  return failure(
      system_error({.operation = "watch descriptor " + std::to_string(descriptor)}, EBADF));
}

}  // namespace forebay::storage
