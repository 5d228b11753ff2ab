// SPDX-License-Identifier: Apache-2.0
// Operations queue up under a lock; wait() runs those that are ready.
#include "storage/memory_backend.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "storage/attempt.hpp"

namespace forebay::storage {

MemoryBackend::MemoryBackend(std::size_t queue_depth) : queue_depth_(queue_depth) {
  const Status opened = wakeup_.open();
  FOREBAY_ASSERT(opened);  // for tests: they have descriptors
}

std::size_t MemoryBackend::submit(std::span<const Operation> operations) {
  const std::lock_guard lock(mutex_);
  const std::size_t room = queue_depth_ - held_.size() - ready_.size();
  const std::size_t taken = std::min(room, operations.size());
  std::deque<Operation>& queue = is_holding_ ? held_ : ready_;
  const auto first = operations.first(taken);
  queue.insert(queue.end(), first.begin(), first.end());
  return taken;
}

std::size_t MemoryBackend::wait(std::span<RawCompletion> completions, Deadline deadline) {
  std::unique_lock lock(mutex_);
  wakeup_.wait(lock, deadline, [this] { return !ready_.empty() || is_woken_; });
  is_woken_ = false;
  const std::size_t count = std::min(completions.size(), ready_.size());
  for (RawCompletion& completion : completions.first(count)) {
    const Operation operation = ready_.front();
    ready_.pop_front();
    lock.unlock();
    completion = {operation.tag, attempt(operation)};
    lock.lock();
  }
  return count;
}

void MemoryBackend::wake() noexcept {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  wakeup_.notify();
}

void MemoryBackend::hold() noexcept {
  const std::lock_guard lock(mutex_);
  is_holding_ = true;
}

bool MemoryBackend::release(std::size_t position) {
  const std::lock_guard lock(mutex_);
  if (position >= held_.size()) return false;
  const auto chosen = held_.begin() + static_cast<std::ptrdiff_t>(position);
  ready_.push_back(*chosen);
  held_.erase(chosen);
  wakeup_.notify();
  return true;
}

void MemoryBackend::release_all() {
  const std::lock_guard lock(mutex_);
  is_holding_ = false;
  ready_.insert(ready_.end(), held_.begin(), held_.end());
  held_.clear();
  wakeup_.notify();
}

std::size_t MemoryBackend::held_count() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

}  // namespace forebay::storage
