// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/dropper.hpp"

#include <utility>

#include "base/service_thread.hpp"
#include "tools/emufs/priority.hpp"

namespace forebay::emufs {

Status Dropper::start() {
  auto thread = start_service_thread("emufs-dropper", [this] { work(); });
  if (!thread) return failure(thread.error());
  thread_ = std::move(*thread);
  return {};
}

Dropper::~Dropper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (const Order& order : orders_) {
    if (order.then) order.then();
  }
}

void Dropper::add(const model::LockLost& lost, std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back({lost, std::move(then)});
  }
  wakes_.notify_one();
}

void Dropper::work() {
  prefer_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    wakes_.wait(lock, [this] { return stopping_ || !orders_.empty(); });
    if (stopping_) return;
    const Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    drop_(order.lost);
    if (order.then) order.then();
    lock.lock();
  }
}

}  // namespace forebay::emufs
