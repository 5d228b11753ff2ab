// SPDX-License-Identifier: Apache-2.0
#include "write/inbox.hpp"

#include <utility>

namespace forebay::write {

bool Inbox::add(Work work, Haste haste) {
  bool rings = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    posted_.push_back(std::move(work));
    const bool sleeps =
        state_ == State::kAsleep || (state_ == State::kDozing && haste == Haste::kNow);
    rings = sleeps && !is_rung_;
    is_rung_ = is_rung_ || rings;
  }
  if (rings) bell_.ring();
  return true;
}

void Inbox::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_rung_ = true;
  }
  bell_.ring();
}

int Inbox::rest(int wait_ms) {
  const std::lock_guard lock(mutex_);
  if (wait_ms == 0 || is_rung_ || !posted_.empty()) return 0;
  const bool is_short = wait_ms > 0 && wait_ms <= kDozeMs;
  state_ = is_short ? State::kDozing : State::kAsleep;
  return wait_ms;
}

std::vector<Inbox::Work> Inbox::take(Bell bell) {
  std::vector<Work> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(posted_);
    state_ = State::kAwake;
    is_rung_ = false;
  }
  // A ring that comes late is heard next time. Of one that is cleared here and was meant for later,
  // rest() knows.
  if (bell == Bell::kHeard) bell_.clear();
  return all;
}

std::vector<Inbox::Work> Inbox::close() {
  std::vector<Work> all;
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  all.swap(posted_);
  return all;
}

}  // namespace forebay::write
