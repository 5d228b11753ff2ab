// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/cache_invalidator.hpp"

#include <utility>

#include "base/service_thread.hpp"
#include "tools/emufs/priority.hpp"

namespace forebay::emufs {

Status CacheInvalidator::start() {
  auto thread = start_service_thread("emufs-dropper", [this] { run(); });
  if (!thread) return failure(thread.error());
  thread_ = std::move(*thread);
  return {};
}

CacheInvalidator::~CacheInvalidator() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (const Invalidation& invalidation : pending_) {
    if (invalidation.on_done) invalidation.on_done();
  }
}

void CacheInvalidator::add(const model::LockRevoked& lost, std::function<void()> on_done) {
  {
    const std::lock_guard lock(mutex_);
    pending_.push_back({lost, std::move(on_done)});
  }
  wakes_.notify_one();
}

void CacheInvalidator::run() {
  raise_thread_priority();
  std::unique_lock lock(mutex_);
  for (;;) {
    wakes_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
    if (stopping_) return;
    const Invalidation invalidation = std::move(pending_.front());
    pending_.pop_front();
    lock.unlock();
    invalidate_(invalidation.range);
    if (invalidation.on_done) invalidation.on_done();
    lock.lock();
  }
}

}  // namespace forebay::emufs
