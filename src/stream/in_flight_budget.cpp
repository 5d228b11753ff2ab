// SPDX-License-Identifier: Apache-2.0
#include "stream/in_flight_budget.hpp"

#include "base/assert.hpp"

namespace forebay::stream {

bool InFlightBudget::try_acquire(std::uint64_t bytes) noexcept {
  for (int look = 0; look < 2; ++look) {
    std::uint64_t taken = in_flight_bytes_.load();
    while (taken == 0 || taken + bytes <= limit_bytes_) {
      if (in_flight_bytes_.compare_exchange_weak(taken, taken + bytes)) return true;
    }
    // This sets the flag first and checks again; release() subtracts first and then reads the flag.
    has_waiters_.store(true);
  }
  return false;
}

void InFlightBudget::release(std::uint64_t bytes) noexcept {
  const std::uint64_t before = in_flight_bytes_.fetch_sub(bytes);
  FOREBAY_ASSERT(before >= bytes);
  if (!has_waiters_.exchange(false)) return;
  const std::lock_guard lock(mutex_);
  for (const std::function<void()>& notify : listeners_)
    notify();
}

void InFlightBudget::add_listener(std::function<void()> notify) {
  const std::lock_guard lock(mutex_);
  listeners_.push_back(std::move(notify));
}

}  // namespace forebay::stream
