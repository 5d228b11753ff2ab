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
    if (!thread && agent->threads_.empty()) return tl::unexpected<Error>(thread.error());
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

void CopyAgent::serve(const std::shared_ptr<SessionCore>& session) {
  if (session->announced.exchange(true, std::memory_order_acq_rel)) return;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (session->cached()) {
      look_later(session, now() + kFirstChance);
    } else {
      inbox_.push_back(session);
      if (idle_count_ > 0) announced_.notify_one();
    }
  }
  if (session->cached()) call_helpers_();
}

void CopyAgent::resume(const std::shared_ptr<SessionCore>& session) {
  serve(session);
  if (!session->cached()) return;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;  // helpers may be gone: a View was kept too long
  }
  call_helpers_();
}

/// Under the lock. A thread that sleeps until a later time is told of the earlier one.
void CopyAgent::look_later(const std::shared_ptr<SessionCore>& session, TimePoint when) {
  const Deadline first = later_.first();
  later_.add(session, when);
  if (idle_count_ > 0 && (!first || when < *first)) announced_.notify_one();
}

void CopyAgent::requeue_due() {
  later_.take_due(now(), [this](std::shared_ptr<SessionCore> session) {
    inbox_.push_back(std::move(session));
  });
}

std::shared_ptr<SessionCore> CopyAgent::next_session() {
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
  std::shared_ptr<SessionCore> session = std::move(inbox_.front());
  inbox_.pop_front();
  session->announced.store(false, std::memory_order_release);
  return session;
}

void CopyAgent::run() {
  while (const std::shared_ptr<SessionCore> session = next_session())
    work_on(session);
}

void CopyAgent::work_on(const std::shared_ptr<SessionCore>& session) {
  {
    const std::lock_guard lock(mutex_);
    at_work_.push_back(session);
  }
  read_on(session);
  const std::lock_guard lock(mutex_);
  at_work_.erase(std::find(at_work_.begin(), at_work_.end(), session));
}

void CopyAgent::read_on(const std::shared_ptr<SessionCore>& session) {
  if (session->cached() && session->helped_since(now() - kFirstChance)) {
    // Its threads copy for themselves; but whoever waits without a thread of theirs (a foreign
    // loop, another executor) may be none of them.
    copy_once(session, Urgency::kAwaited);
    serve(session);
    return;
  }
  const TimePoint start = now();
  while (copy_once(session)) {
    // Others may have work, too; and a session whose threads have come back is theirs again.
    if (session->cached() && !session->helped_since(start)) continue;
    serve(session);
    return;
  }
  const auto retry_at = session->retry_at();
  if (!retry_at) return;
  const std::lock_guard lock(mutex_);
  if (!stopping_) look_later(session, *retry_at);
}

/// One that waits for its time, or that a thread of ours is busy with already: a helper takes turns
/// with it, and the thread leaves when it sees that.
std::shared_ptr<SessionCore> CopyAgent::find_copying() const {
  const auto copies = [](const auto& session) { return session->cached(); };
  if (auto session = later_.any([](const SessionCore& one) { return one.cached(); }))
    return session;
  const auto found = std::find_if(at_work_.begin(), at_work_.end(), copies);
  return found == at_work_.end() ? nullptr : *found;
}

bool CopyAgent::help() {
  std::shared_ptr<SessionCore> session;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    session = find_copying();
  }
  if (!session || !copy_once(session)) return false;
  session->note_help();
  serve(session);  // what arrived, and the memory that it took part in, may let others go on
  return true;
}

bool CopyAgent::copy_once(const std::shared_ptr<SessionCore>& session, Urgency least) {
  SessionCore::Transfer transfer;
  if (!session->next_transfer(transfer, least)) return false;
  session->copy(transfer);
  return true;
}

}  // namespace forebay::read
