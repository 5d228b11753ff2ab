// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/errands.hpp"

#include <cstddef>
#include <utility>

#include "base/service_thread.hpp"

namespace forebay::emufs {

namespace {

constexpr std::size_t kErrandsMax = 65'536;

}  // namespace

Status Errands::start() {
  auto thread = start_service_thread("emufs-errands", [this] { work(); });
  if (!thread) return failure(thread.error());
  thread_ = std::move(*thread);
  return {};
}

Errands::~Errands() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Errands::add(std::function<void()> errand) {
  {
    const std::lock_guard lock(mutex_);
    if (errands_.size() == kErrandsMax) errands_.pop_front();
    errands_.push_back(std::move(errand));
  }
  wakes_.notify_one();
}

void Errands::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wakes_.wait(lock, [this] { return stopping_ || !errands_.empty(); });
    if (stopping_) return;
    const std::function<void()> errand = std::move(errands_.front());
    errands_.pop_front();
    lock.unlock();
    errand();
    lock.lock();
  }
}

}  // namespace forebay::emufs
