// SPDX-License-Identifier: Apache-2.0
#include "read/copy_agent.hpp"

#include <algorithm>
#include <utility>

#include "base/service_thread.hpp"

namespace forebay::read {

namespace {

TimePoint now() { return std::chrono::steady_clock::now(); }

}  // namespace

Result<std::shared_ptr<CopyAgent>> CopyAgent::start(unsigned thread_count,
                                                    std::function<void()> notify_helpers) {
  std::shared_ptr<CopyAgent> agent(new CopyAgent(std::move(notify_helpers)));
  while (agent->threads_.size() < thread_count) {
    auto thread = start_service_thread("forebay-copy", [raw = agent.get()] { raw->run(); });
    if (!thread && agent->threads_.empty()) return failure(thread.error());
    if (!thread) break;
    agent->threads_.push_back(std::move(*thread));
  }
  return agent;
}

CopyAgent::~CopyAgent() { stop(); }

void CopyAgent::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    work_available_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  // Sessions own their agent: a session left here would keep both alive without limit.
  const std::lock_guard lock(mutex_);
  ready_queue_.clear();
  timers_ = {};
}

void CopyAgent::notify(const std::shared_ptr<TransferSource>& source) {
  if (source->is_notified.exchange(true, std::memory_order_acq_rel)) return;
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  if (source->is_cached()) {
    add_timer(source, now() + (has_helpers(*source) ? kHelpedDelay : kInitialDelay));
    notify_helpers_();
  } else {
    ready_queue_.push_back(source);
    if (idle_threads_ > 0) work_available_.notify_one();
  }
}

void CopyAgent::notify_memory_released(const std::shared_ptr<TransferSource>& source) {
  notify(source);
  if (!source->is_cached()) return;
  const std::lock_guard lock(mutex_);
  if (!is_stopping_) notify_helpers_();
}

bool CopyAgent::has_helpers(const TransferSource& source) {
  return source.is_cached() && source.has_help_since(now() - kHelperTimeout);
}

/// Under the lock. Wakes a thread that would sleep longer.
void CopyAgent::add_timer(const std::shared_ptr<TransferSource>& source, TimePoint when) {
  const Deadline first = timers_.next_deadline();
  timers_.add(source, when);
  if (idle_threads_ > 0 && (!first || when < *first)) work_available_.notify_one();
}

void CopyAgent::requeue_expired() {
  timers_.pop_expired(now(), [this](std::shared_ptr<TransferSource> source) {
    ready_queue_.push_back(std::move(source));
  });
}

std::shared_ptr<TransferSource> CopyAgent::next_source() {
  std::unique_lock lock(mutex_);
  requeue_expired();
  while (!is_stopping_ && ready_queue_.empty()) {
    ++idle_threads_;
    if (const Deadline first = timers_.next_deadline()) {
      work_available_.wait_until(lock, *first);
    } else {
      work_available_.wait(lock);
    }
    --idle_threads_;
    requeue_expired();
  }
  if (is_stopping_) return nullptr;
  std::shared_ptr<TransferSource> source = std::move(ready_queue_.front());
  ready_queue_.pop_front();
  source->is_notified.store(false, std::memory_order_release);
  return source;
}

void CopyAgent::run() {
  while (const std::shared_ptr<TransferSource> source = next_source())
    process_source(source);
}

void CopyAgent::process_source(const std::shared_ptr<TransferSource>& source) {
  {
    const std::lock_guard lock(mutex_);
    active_.push_back(source);
  }
  read_source(source);
  const std::lock_guard lock(mutex_);
  active_.erase(std::find(active_.begin(), active_.end(), source));
}

void CopyAgent::read_source(const std::shared_ptr<TransferSource>& source) {
  if (has_helpers(*source)) {
    // The tasks' threads copy; but a waiter that is not one of those threads (a foreign loop,
    // another executor) may have no helper.
    copy_next(source, LoadPriority::kAwaitedUnassisted);
    notify(source);
    return;
  }
  const TimePoint start = now();
  while (copy_next(source)) {
    if (source->is_cached() && !source->has_help_since(start)) continue;
    // Not cached: other sources come first. Cached: its tasks copy again, so it is left to them.
    notify(source);
    return;
  }
  const auto retry_at = source->retry_at();
  if (!retry_at) return;
  const std::lock_guard lock(mutex_);
  if (!is_stopping_) add_timer(source, *retry_at);
}

/// A source in the timer queue, or one for which a thread of this agent is reading. That thread
/// leaves the source to the helper once it sees the help.
std::shared_ptr<TransferSource> CopyAgent::find_cached_source() const {
  const auto copies = [](const auto& source) { return source->is_cached(); };
  if (auto source = timers_.find_any([](const TransferSource& one) { return one.is_cached(); }))
    return source;
  const auto found = std::find_if(active_.begin(), active_.end(), copies);
  return found == active_.end() ? nullptr : *found;
}

bool CopyAgent::help() {
  std::shared_ptr<TransferSource> source;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return false;
    source = find_cached_source();
  }
  if (!source || !copy_next(source)) return false;
  source->record_help();
  notify(source);  // more loads may be possible now
  return true;
}

bool CopyAgent::copy_next(const std::shared_ptr<TransferSource>& source, LoadPriority least) {
  TransferSource::Transfer transfer;
  if (!source->next_transfer(transfer, least)) return false;
  source->read_synchronously(transfer);
  return true;
}

}  // namespace forebay::read
