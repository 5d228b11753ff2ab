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
                                                    std::function<void()> call_helpers) {
  std::shared_ptr<CopyAgent> agent(new CopyAgent(std::move(call_helpers)));
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
    stopping_ = true;
    announced_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  // Sessions own their agent: one that is left here would keep both alive for ever.
  const std::lock_guard lock(mutex_);
  inbox_.clear();
  later_ = {};
}

void CopyAgent::serve(const std::shared_ptr<TransferSource>& source) {
  if (source->announced.exchange(true, std::memory_order_acq_rel)) return;
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  if (source->cached()) {
    look_later(source, now() + (has_helpers(*source) ? kNextChance : kFirstChance));
    call_helpers_();
  } else {
    inbox_.push_back(source);
    if (idle_count_ > 0) announced_.notify_one();
  }
}

void CopyAgent::resume(const std::shared_ptr<TransferSource>& source) {
  serve(source);
  if (!source->cached()) return;
  const std::lock_guard lock(mutex_);
  if (!stopping_) call_helpers_();
}

bool CopyAgent::has_helpers(const TransferSource& source) {
  return source.cached() && source.helped_since(now() - kHelpersStay);
}

/// Under the lock. A thread that sleeps until a later time is told of the earlier one.
void CopyAgent::look_later(const std::shared_ptr<TransferSource>& source, TimePoint when) {
  const Deadline first = later_.first();
  later_.add(source, when);
  if (idle_count_ > 0 && (!first || when < *first)) announced_.notify_one();
}

void CopyAgent::requeue_due() {
  later_.take_due(now(), [this](std::shared_ptr<TransferSource> source) {
    inbox_.push_back(std::move(source));
  });
}

std::shared_ptr<TransferSource> CopyAgent::next_source() {
  std::unique_lock lock(mutex_);
  requeue_due();
  while (!stopping_ && inbox_.empty()) {
    ++idle_count_;
    if (const Deadline first = later_.first()) {
      announced_.wait_until(lock, *first);
    } else {
      announced_.wait(lock);
    }
    --idle_count_;
    requeue_due();
  }
  if (stopping_) return nullptr;
  std::shared_ptr<TransferSource> source = std::move(inbox_.front());
  inbox_.pop_front();
  source->announced.store(false, std::memory_order_release);
  return source;
}

void CopyAgent::run() {
  while (const std::shared_ptr<TransferSource> source = next_source())
    work_on(source);
}

void CopyAgent::work_on(const std::shared_ptr<TransferSource>& source) {
  {
    const std::lock_guard lock(mutex_);
    at_work_.push_back(source);
  }
  read_on(source);
  const std::lock_guard lock(mutex_);
  at_work_.erase(std::find(at_work_.begin(), at_work_.end(), source));
}

void CopyAgent::read_on(const std::shared_ptr<TransferSource>& source) {
  if (has_helpers(*source)) {
    // Its threads copy for themselves; but whoever waits without a thread of theirs (a foreign
    // loop, another executor) may be none of them.
    copy_once(source, Urgency::kAwaitedHelpless);
    serve(source);
    return;
  }
  const TimePoint start = now();
  while (copy_once(source)) {
    // Others may have work, too; and a source whose threads have come back is theirs again.
    if (source->cached() && !source->helped_since(start)) continue;
    serve(source);
    return;
  }
  const auto retry_at = source->retry_at();
  if (!retry_at) return;
  const std::lock_guard lock(mutex_);
  if (!stopping_) look_later(source, *retry_at);
}

/// One that waits for its time, or that a thread of ours is busy with already: a helper takes turns
/// with it, and the thread leaves when it sees that.
std::shared_ptr<TransferSource> CopyAgent::find_copying() const {
  const auto copies = [](const auto& source) { return source->cached(); };
  if (auto source = later_.any([](const TransferSource& one) { return one.cached(); }))
    return source;
  const auto found = std::find_if(at_work_.begin(), at_work_.end(), copies);
  return found == at_work_.end() ? nullptr : *found;
}

bool CopyAgent::help() {
  std::shared_ptr<TransferSource> source;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    source = find_copying();
  }
  if (!source || !copy_once(source)) return false;
  source->note_help();
  serve(source);  // what arrived, and the memory that it took part in, may let others go on
  return true;
}

bool CopyAgent::copy_once(const std::shared_ptr<TransferSource>& source, Urgency least) {
  TransferSource::Transfer transfer;
  if (!source->next_transfer(transfer, least)) return false;
  source->copy(transfer);
  return true;
}

}  // namespace forebay::read
