// SPDX-License-Identifier: Apache-2.0
// The bell is an eventfd, and one ppoll() waits for it and for the watched descriptor. The counter
// is drained by the sleeper; a ring that comes late ends one sleep too many, which loops.
#include "storage/issuer_bell.hpp"

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

Status IssuerBell::open() {
  FOREBAY_ASSERT(!bell_);
  bell_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (bell_) return {};
  return failure(system_error({.operation = "create an event descriptor"}, errno));
}

Status IssuerBell::watch(int descriptor) {
  FOREBAY_ASSERT(watched_ < 0);
  if (Status good = check_watchable(descriptor); !good) return good;
  watched_ = descriptor;
  return {};
}

void IssuerBell::ring() noexcept {
  if (!asleep_.exchange(false)) return;
  const std::uint64_t one = 1;
  is_refused_.store(::write(bell_.get(), &one, sizeof one) < 0);
}

/// One sleep, for at least one reason or for none; true if the deadline has passed.
bool IssuerBell::sleep(Deadline deadline, unsigned sleeps) noexcept {
  std::chrono::nanoseconds limit =
      is_refused_.load() ? kIssuerSleepUnrung : issuer_sleep_limit(sleeps);
  if (deadline) {
    const TimePoint now = SteadyClock::shared().now();
    if (*deadline <= now && watched_ < 0) return true;
    limit = std::min<std::chrono::nanoseconds>(limit, std::max(*deadline, now) - now);
  }
  std::array<pollfd, 2> entries{pollfd{bell_.get(), POLLIN, 0}, pollfd{watched_, POLLIN, 0}};
  if (sleep_until_ready(std::span(entries).first(watched_ < 0 ? 1 : 2), limit) > 0) {
    FOREBAY_ASSERT((entries[1].revents & POLLNVAL) == 0);  // closed while it was watched
    fired_ = fired_ || entries[1].revents != 0;
    std::uint64_t rings = 0;
    // A bell that cannot be drained stays readable, and ends each sleep at once.
    if (entries[0].revents != 0 && ::read(bell_.get(), &rings, sizeof rings) < 0)
      pause_after_refusal();
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
