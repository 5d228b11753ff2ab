// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/reply_scheduler.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/service_thread.hpp"
#include "tools/emufs/priority.hpp"

namespace forebay::emufs {

namespace {

using namespace std::chrono_literals;
using model::Time;

constexpr std::uint64_t kCachePageBytes = 4096;

std::chrono::steady_clock::time_point clock_time(Time time) {
  return std::chrono::steady_clock::time_point(time);
}

void spin_until(Time when) {
  while (monotonic_now() < when) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace

Time monotonic_now() noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }

/// Receives events of the model. The ReplyScheduler's lock is held.
class ReplyScheduler::CompletionSink final : public model::ModelObserver {
 public:
  explicit CompletionSink(ReplyScheduler& owner) : owner_(owner) {}
  void on_complete(const model::RequestCompletion& finished) override { owner_.finish(finished); }
  void on_lock_revoked(const model::LockRevoked& lost) override {
    owner_.invalidate_lost_range(lost, InFlightPages::kNew);
  }

 private:
  ReplyScheduler& owner_;
};

ReplyScheduler::ReplyScheduler(Setup setup)
    : setup_(std::move(setup)), model_(setup_.machine), advanced_to_(monotonic_now()) {}

Result<std::unique_ptr<ReplyScheduler>> ReplyScheduler::start(Setup setup) {
  std::unique_ptr<ReplyScheduler> scheduler(new ReplyScheduler(std::move(setup)));
  if (const Status started = scheduler->start_threads(); !started) {
    return failure(started.error());
  }
  return scheduler;
}

Status ReplyScheduler::start_threads() {
  const std::uint32_t clients = setup_.machine.client.count;
  for (std::uint32_t i = 0; setup_.invalidate_pages && i < clients; ++i) {
    invalidators_.push_back(std::make_unique<CacheInvalidator>(setup_.invalidate_pages));
    if (auto started = invalidators_.back()->start(); !started) return started;
  }
  for (unsigned i = 0; i < setup_.reply_threads; ++i) {
    auto thread = start_service_thread("emufs-answers", [this] { send_due_replies(); });
    if (!thread) return failure(thread.error());
    threads_.push_back(std::move(*thread));
  }
  return {};
}

ReplyScheduler::~ReplyScheduler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  leader_wakes_.notify_all();
  follower_wakes_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
  invalidators_.clear();
  for (auto& [when, due] : due_)
    due.reply->send();
  for (auto& [ticket, pending] : pending_)
    pending.reply->send();
}

void ReplyScheduler::submit(Ticket ticket, ScheduledRequest job) {
  const Time arrived = job.arrival - job.overhead.before;
  std::unique_lock lock(mutex_);
  const Time submitted = std::max(arrived, advanced_to_);
  job.request.tag = ticket;
  const model::RequestId id = model_.submit(submitted, job.request);
  reply_overheads_.insert(job.overhead.after);
  pending_.insert_or_assign(ticket, PendingRequest{.id = id,
                                                   .request = job.request,
                                                   .submit_delay = submitted - arrived,
                                                   .after = job.overhead.after,
                                                   .changed_file = job.changed_file,
                                                   .reply = std::move(job.reply)});
  if (setup_.delay_mode == DelayMode::kEnabled) {
    wake_leader_if_earlier();
    return;
  }
  // No request has a duration, so this one is complete, and its reply is sent on this thread.
  advance(monotonic_now());
  while (!due_.empty() && due_.begin()->first <= monotonic_now()) {
    if (delay_for_invalidation()) continue;
    auto node = due_.extract(due_.begin());
    lock.unlock();
    node.mapped().reply->send();
    lock.lock();
  }
  wake_leader_if_earlier();
}

void ReplyScheduler::reply_at(Time when, std::unique_ptr<Reply> reply) {
  const std::lock_guard lock(mutex_);
  due_.emplace(when, DueReply{.reply = std::move(reply)});
  wake_leader_if_earlier();
}

void ReplyScheduler::interrupt(Ticket ticket, std::function<bool()> is_dying) {
  const std::lock_guard lock(mutex_);
  interrupted_.emplace(monotonic_now() + setup_.interrupt_period,
                       Interrupted{ticket, std::move(is_dying)});
  wake_leader_if_earlier();
}

void ReplyScheduler::with_model(const std::function<void(model::StorageModel&, Time)>& use) {
  const std::lock_guard lock(mutex_);
  const Time now = std::max(monotonic_now(), advanced_to_);
  advance(now);
  use(model_, now);
  wake_leader_if_earlier();
}

void ReplyScheduler::wake_leader_if_earlier() {
  if (!has_leader_) {
    follower_wakes_.notify_one();
  } else if (next_wake() < wake_time_) {
    leader_wakes_.notify_one();
  }
}

Time ReplyScheduler::look_ahead() const {
  // The model's next completion is sent earlier by this time, so it must be computed by then.
  return wakeup_.lead() + (reply_overheads_.empty() ? Time{} : *reply_overheads_.rbegin());
}

Time ReplyScheduler::next_wake() const {
  Time wake = Time::max();
  if (!due_.empty()) wake = std::min(wake, due_.begin()->first - wakeup_.lead());
  if (const auto event = model_.next_event()) wake = std::min(wake, *event - look_ahead());
  if (!interrupted_.empty()) wake = std::min(wake, interrupted_.begin()->first);
  return std::min(wake, setup_.cpu_latency.next_release());
}

void ReplyScheduler::advance(Time now) {
  CompletionSink ends(*this);
  // Advances to events only: later requests keep their own arrival time.
  for (auto event = model_.next_event(); event; event = model_.next_event()) {
    if (*event > now + (setup_.delay_mode == DelayMode::kEnabled ? look_ahead() : Time{})) break;
    advanced_to_ = std::max(advanced_to_, *event);
    model_.advance(*event, ends);
  }
}

void ReplyScheduler::finish(const model::RequestCompletion& finished) {
  const auto it = pending_.find(finished.tag);
  if (it == pending_.end()) return;
  PendingRequest& pending = it->second;
  const Time when = finished.finished - pending.after - pending.submit_delay;
  const bool writes = pending.request.kind == model::RequestKind::kWrite;
  const Time timeout = pending.changed_file ? setup_.change_timeout : setup_.invalidation_timeout;
  due_.emplace(when, DueReply{.changes_bytes = writes || pending.changed_file.has_value(),
                              .file = pending.changed_file.value_or(pending.request.file),
                              .when = when,
                              .last_invalidation = last_invalidation_,
                              .deadline = finished.finished + timeout,
                              .reply = std::move(pending.reply)});
  reply_overheads_.erase(reply_overheads_.find(pending.after));
  pending_.erase(it);
}

void ReplyScheduler::fail_interrupted(Time now) {
  std::vector<Interrupted> later;
  while (!interrupted_.empty() && interrupted_.begin()->first <= now) {
    auto node = interrupted_.extract(interrupted_.begin());
    Interrupted& interrupted = node.mapped();
    const auto it = pending_.find(interrupted.ticket);
    if (it == pending_.end()) continue;
    if (!model_.is_dropped(it->second.id) && !interrupted.has_pending_fatal_signal()) {
      later.push_back(std::move(interrupted));
      continue;
    }
    model_.cancel(std::max(now, advanced_to_), it->second.id);
    it->second.reply->send_error(EINTR);
    reply_overheads_.erase(reply_overheads_.find(it->second.after));
    pending_.erase(it);
  }
  // The kernel reports only the first signal: a fatal one may follow it.
  for (Interrupted& interrupted : later)
    interrupted_.emplace(now + setup_.interrupt_period, std::move(interrupted));
}

/// Waits only for invalidations that were queued before. Where a lock alternates between clients,
/// an invalidation of the file is always in progress.
bool ReplyScheduler::is_awaiting_invalidation(const DueReply& due) const {
  if (!due.changes_bytes) return false;
  const auto pending_invalidations = invalidations_.find(due.file);
  return pending_invalidations != invalidations_.end() &&
         *pending_invalidations->second.begin() <= due.last_invalidation;
}

/// True if the first due reply was moved to its deadline. on_invalidated() moves it back.
bool ReplyScheduler::delay_for_invalidation() {
  const DueReply& due = due_.begin()->second;
  if (due_.begin()->first >= due.deadline || !is_awaiting_invalidation(due)) return false;
  auto node = due_.extract(due_.begin());
  node.key() = node.mapped().deadline;
  due_.insert(std::move(node));
  return true;
}

/// Keeps processors awake while requests are pending.
void ReplyScheduler::update_cpu_latency(Time now) {
  const bool is_pending = !due_.empty() || model_.next_event().has_value();
  if (is_pending) {
    setup_.cpu_latency.keep_active(now);
  } else {
    setup_.cpu_latency.release_if_idle(now);
  }
}

std::multimap<Time, ReplyScheduler::DueReply>::node_type ReplyScheduler::wait_for_next(
    std::unique_lock<std::mutex>& lock) {
  while (!stopping_) {
    const Time now = monotonic_now();
    advance(now);
    fail_interrupted(now);
    if (!due_.empty() && due_.begin()->first <= now + wakeup_.lead()) {
      if (!delay_for_invalidation()) return due_.extract(due_.begin());
      continue;
    }
    update_cpu_latency(now);
    wake_time_ = next_wake();
    if (wake_time_ == Time::max()) {
      leader_wakes_.wait(lock);
    } else if (leader_wakes_.wait_until(lock, clock_time(wake_time_)) == std::cv_status::timeout) {
      wakeup_.record_delay(monotonic_now() - wake_time_);
    }
  }
  return {};
}

void ReplyScheduler::send_next(std::unique_lock<std::mutex>& lock) {
  has_leader_ = true;
  auto next = wait_for_next(lock);
  has_leader_ = false;
  wake_time_ = Time::max();
  if (next.empty()) return;
  // Copying a reply may take a while: another thread sends the next one.
  if (next_wake() != Time::max()) follower_wakes_.notify_one();
  lock.unlock();
  spin_until(next.key());
  next.mapped().reply->send();
  next.mapped().reply.reset();
  lock.lock();
}

void ReplyScheduler::send_due_replies() {
  raise_thread_priority();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (has_leader_) {
      follower_wakes_.wait(lock);
    } else {
      send_next(lock);
    }
  }
}

std::vector<ByteRange> ReplyScheduler::in_flight_pages(const model::LockRevoked& lost) const {
  std::vector<ByteRange> pages;
  for (const auto& [ticket, pending] : pending_) {
    const model::Request& request = pending.request;
    const bool same = request.client == lost.client && request.file == lost.file;
    const ByteRange bytes = request.locked_range();
    if (!same || !is_data_request(request.kind) || bytes.empty()) continue;
    const std::uint64_t first = bytes.offset / kCachePageBytes * kCachePageBytes;
    const std::uint64_t end =
        (bytes.end() + kCachePageBytes - 1) / kCachePageBytes * kCachePageBytes;
    const ByteRange both = intersect({first, end - first}, lost.range);
    if (!both.empty()) pages.push_back(both);
  }
  std::ranges::sort(pages, {}, &ByteRange::offset);
  return pages;
}

/// Replies to writes wait for it.
void ReplyScheduler::invalidate(const model::LockRevoked& lost, ByteRange range) {
  const std::uint64_t number = ++last_invalidation_;
  invalidations_[lost.file].insert(number);
  model::LockRevoked part = lost;
  part.range = range;
  invalidators_[lost.client]->add(
      part, [this, file = lost.file, number] { on_invalidated(file, number); });
}

void ReplyScheduler::invalidate_untracked(const model::LockRevoked& lost, ByteRange range) {
  model::LockRevoked part = lost;
  part.range = range;
  invalidators_[lost.client]->add(part);
}

void ReplyScheduler::invalidate_lost_range(const model::LockRevoked& lost,
                                           InFlightPages in_flight) {
  // A CacheInvalidator that ends may be the caller, through the model.
  if (stopping_ || lost.client >= invalidators_.size()) return;
  // Pages of requests in flight are locked. They are last, as the CacheInvalidator waits for them.
  // If they will hold new bytes, no reply waits for their invalidation.
  const std::vector<ByteRange> locked = in_flight_pages(lost);
  std::uint64_t next = lost.range.offset;
  for (const ByteRange& pages : locked) {
    if (pages.offset > next) {
      invalidate(lost, {next, pages.offset - next});
    }
    next = std::max(next, pages.end());
  }
  if (next < lost.range.end()) {
    const bool is_to_end = lost.range.end() == kAll;
    invalidate(lost, {next, is_to_end ? kAll : lost.range.end() - next});
  }
  for (const ByteRange& pages : locked) {
    if (in_flight == InFlightPages::kNew) {
      invalidate_untracked(lost, pages);
    } else {
      invalidate(lost, pages);
    }
  }
}

void ReplyScheduler::invalidate_other_clients(model::ClientId client, model::FileId file) {
  const std::lock_guard lock(mutex_);
  for (model::ClientId other = 0; other < setup_.machine.client.count; ++other) {
    if (other == client) continue;
    invalidate_lost_range(
        {.client = other, .file = file, .range = {0, kAll}, .at = monotonic_now()},
        InFlightPages::kOld);
  }
}

void ReplyScheduler::notify_size(model::ClientId client, model::FileId file) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || client >= invalidators_.size()) return;
  invalidate({.client = client, .file = file, .at = monotonic_now()}, {});
}

void ReplyScheduler::invalidate_then(model::ClientId client,
                                     model::FileId file,
                                     std::function<void()> on_done) {
  const model::LockRevoked all_of_it{
      .client = client, .file = file, .range = {0, kAll}, .at = monotonic_now()};
  invalidators_.at(client)->add(all_of_it, std::move(on_done));
}

void ReplyScheduler::on_invalidated(model::FileId file, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto pending_invalidations = invalidations_.find(file);
  pending_invalidations->second.erase(number);
  if (pending_invalidations->second.empty()) invalidations_.erase(pending_invalidations);
  for (auto it = due_.begin(); it != due_.end();) {
    const auto delayed = it++;
    const DueReply& due = delayed->second;
    if (due.file != file || delayed->first == due.when || is_awaiting_invalidation(due)) continue;
    auto node = due_.extract(delayed);
    node.key() = node.mapped().when;
    due_.insert(std::move(node));
  }
  wake_leader_if_earlier();
}

}  // namespace forebay::emufs
