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

std::vector<Inbox::Work> Inbox::take() {
  std::vector<Work> all;
  bool was_rung = false;
  {
    const std::lock_guard lock(mutex_);
    all.swap(posted_);
    state_ = State::kAwake;
    was_rung = std::exchange(is_rung_, false);
  }
  // Who rings from now on has said so, and rest() knows it.
  if (was_rung) bell_.clear();
  return all;
}

void Inbox::close() {
  std::vector<Work> dropped;
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  dropped.swap(posted_);
}

}  // namespace forebay::write
