// SPDX-License-Identifier: Apache-2.0
#include "stream/budget.hpp"

#include "base/assert.hpp"

namespace forebay::stream {

bool Budget::try_take(std::uint64_t bytes) noexcept {
  for (int look = 0; look < 2; ++look) {
    std::uint64_t taken = taken_bytes_.load();
    while (taken == 0 || taken + bytes <= limit_bytes_) {
      if (taken_bytes_.compare_exchange_weak(taken, taken + bytes)) return true;
    }
    // Say so first and look again then; give_back() gives first and looks then.
    somebody_waits_.store(true);
  }
  return false;
}

void Budget::give_back(std::uint64_t bytes) noexcept {
  const std::uint64_t before = taken_bytes_.fetch_sub(bytes);
  FOREBAY_ASSERT(before >= bytes);
  if (!somebody_waits_.exchange(false)) return;
  const std::lock_guard lock(mutex_);
  for (const std::function<void()>& ring : bells_)
    ring();
}

void Budget::add_bell(std::function<void()> ring) {
  const std::lock_guard lock(mutex_);
  bells_.push_back(std::move(ring));
}

}  // namespace forebay::stream
