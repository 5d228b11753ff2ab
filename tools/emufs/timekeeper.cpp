// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/timekeeper.hpp"

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

void stay_awake_until(Time when) {
  while (monotonic_now() < when) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace

Time monotonic_now() noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }

/// Takes what the model says; the Timekeeper's lock is held meanwhile.
class Timekeeper::Ends final : public model::Sink {
 public:
  explicit Ends(Timekeeper& owner) : owner_(owner) {}
  void on_finished(const model::Finished& finished) override { owner_.finish(finished); }
  void on_lock_lost(const model::LockLost& lost) override {
    owner_.drop_pages_of(lost, UnderWay::kNew);
  }

 private:
  Timekeeper& owner_;
};

Timekeeper::Timekeeper(Setup setup)
    : setup_(std::move(setup)), model_(setup_.machine), advanced_to_(monotonic_now()) {}

Result<std::unique_ptr<Timekeeper>> Timekeeper::start(Setup setup) {
  std::unique_ptr<Timekeeper> keeper(new Timekeeper(std::move(setup)));
  if (const Status started = keeper->start_threads(); !started) {
    return failure(started.error());
  }
  return keeper;
}

Status Timekeeper::start_threads() {
  const std::uint32_t clients = setup_.machine.client.count;
  for (std::uint32_t i = 0; setup_.drop_pages && i < clients; ++i) {
    droppers_.push_back(std::make_unique<Dropper>(setup_.drop_pages));
    if (auto started = droppers_.back()->start(); !started) return started;
  }
  for (unsigned i = 0; i < setup_.answer_threads; ++i) {
    auto thread = start_service_thread("emufs-answers", [this] { answer_what_is_due(); });
    if (!thread) return failure(thread.error());
    threads_.push_back(std::move(*thread));
  }
  return {};
}

Timekeeper::~Timekeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  leader_wakes_.notify_all();
  follower_wakes_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
  droppers_.clear();
  for (auto& [when, due] : due_)
    due.answer->send();
  for (auto& [ticket, waiting] : waiting_)
    waiting.answer->send();
}

void Timekeeper::submit(Ticket ticket, Job job) {
  const Time arrived = job.taken - job.allowance.before;
  std::unique_lock lock(mutex_);
  const Time submitted = std::max(arrived, advanced_to_);
  job.request.tag = ticket;
  const model::RequestId id = model_.submit(submitted, job.request);
  afters_.insert(job.allowance.after);
  waiting_.insert_or_assign(ticket, Waiting{.id = id,
                                            .request = job.request,
                                            .credit = submitted - arrived,
                                            .after = job.allowance.after,
                                            .changed = job.changed,
                                            .answer = std::move(job.answer)});
  if (setup_.delays == Delays::kKept) {
    wake_leader_if_earlier();
    return;
  }
  // Nothing has a duration, so it is done already, and sent without changing the thread.
  advance(monotonic_now());
  while (!due_.empty() && due_.begin()->first <= monotonic_now()) {
    if (delay_until_pages_are_dropped()) continue;
    auto node = due_.extract(due_.begin());
    lock.unlock();
    node.mapped().answer->send();
    lock.lock();
  }
  wake_leader_if_earlier();
}

void Timekeeper::answer_at(Time when, std::unique_ptr<Answer> answer) {
  const std::lock_guard lock(mutex_);
  due_.emplace(when, Due{.answer = std::move(answer)});
  wake_leader_if_earlier();
}

void Timekeeper::interrupt(Ticket ticket, std::function<bool()> is_dying) {
  const std::lock_guard lock(mutex_);
  interrupted_.emplace(monotonic_now() + setup_.interrupt_period,
                       Interrupted{ticket, std::move(is_dying)});
  wake_leader_if_earlier();
}

void Timekeeper::with_model(const std::function<void(model::StorageModel&, Time)>& use) {
  const std::lock_guard lock(mutex_);
  const Time now = std::max(monotonic_now(), advanced_to_);
  advance(now);
  use(model_, now);
  wake_leader_if_earlier();
}

void Timekeeper::wake_leader_if_earlier() {
  if (!has_leader_) {
    follower_wakes_.notify_one();
  } else if (next_wake() < wakes_at_) {
    leader_wakes_.notify_one();
  }
}

Time Timekeeper::look_ahead() const {
  // An end that the model has in its near future is sent so much earlier, so it must be known then.
  return alarm_.lead() + (afters_.empty() ? Time{} : *afters_.rbegin());
}

Time Timekeeper::next_wake() const {
  Time wake = Time::max();
  if (!due_.empty()) wake = std::min(wake, due_.begin()->first - alarm_.lead());
  if (const auto event = model_.next_event()) wake = std::min(wake, *event - look_ahead());
  if (!interrupted_.empty()) wake = std::min(wake, interrupted_.begin()->first);
  return std::min(wake, setup_.processors.next_rest());
}

void Timekeeper::advance(Time now) {
  Ends ends(*this);
  // Only to what happens: what arrives in between keeps its own time.
  for (auto event = model_.next_event(); event; event = model_.next_event()) {
    if (*event > now + (setup_.delays == Delays::kKept ? look_ahead() : Time{})) break;
    advanced_to_ = std::max(advanced_to_, *event);
    model_.advance(*event, ends);
  }
}

void Timekeeper::finish(const model::Finished& finished) {
  const auto it = waiting_.find(finished.tag);
  if (it == waiting_.end()) return;
  Waiting& waiting = it->second;
  const Time when = finished.finished - waiting.after - waiting.credit;
  const bool writes = waiting.request.kind == model::RequestKind::kWrite;
  const Time patience = waiting.changed ? setup_.change_patience : setup_.pages_patience;
  due_.emplace(when, Due{.changes_bytes = writes || waiting.changed.has_value(),
                         .file = waiting.changed.value_or(waiting.request.file),
                         .when = when,
                         .drops_before = last_drop_,
                         .wait_no_longer = finished.finished + patience,
                         .answer = std::move(waiting.answer)});
  afters_.erase(afters_.find(waiting.after));
  waiting_.erase(it);
}

void Timekeeper::refuse_interrupted(Time now) {
  std::vector<Interrupted> later;
  while (!interrupted_.empty() && interrupted_.begin()->first <= now) {
    auto node = interrupted_.extract(interrupted_.begin());
    Interrupted& interrupted = node.mapped();
    const auto it = waiting_.find(interrupted.ticket);
    if (it == waiting_.end()) continue;
    if (!model_.never_ends(it->second.id) && !interrupted.is_dying()) {
      later.push_back(std::move(interrupted));
      continue;
    }
    model_.forget(std::max(now, advanced_to_), it->second.id);
    it->second.answer->refuse(EINTR);
    afters_.erase(afters_.find(it->second.after));
    waiting_.erase(it);
  }
  // The kernel tells of the first signal only: one that kills may have come after it.
  for (Interrupted& interrupted : later)
    interrupted_.emplace(now + setup_.interrupt_period, std::move(interrupted));
}

/// Only for what was to be dropped before: where a lock goes from hand to hand, there is always
/// something of the file that is being dropped.
bool Timekeeper::waits_for_pages(const Due& due) const {
  if (!due.changes_bytes) return false;
  const auto drops = dropping_.find(due.file);
  return drops != dropping_.end() && *drops->second.begin() <= due.drops_before;
}

/// True if the first answer that is due had to make way. It comes back in pages_dropped().
bool Timekeeper::delay_until_pages_are_dropped() {
  const Due& due = due_.begin()->second;
  if (due_.begin()->first >= due.wait_no_longer || !waits_for_pages(due)) return false;
  auto node = due_.extract(due_.begin());
  node.key() = node.mapped().wait_no_longer;
  due_.insert(std::move(node));
  return true;
}

/// As long as somebody waits, processors do not halt.
void Timekeeper::rest(Time now) {
  const bool somebody_waits = !due_.empty() || model_.next_event().has_value();
  if (somebody_waits) {
    setup_.processors.use(now);
  } else {
    setup_.processors.rest(now);
  }
}

std::multimap<Time, Timekeeper::Due>::node_type Timekeeper::wait_for_next(
    std::unique_lock<std::mutex>& lock) {
  while (!stopping_) {
    const Time now = monotonic_now();
    advance(now);
    refuse_interrupted(now);
    if (!due_.empty() && due_.begin()->first <= now + alarm_.lead()) {
      if (!delay_until_pages_are_dropped()) return due_.extract(due_.begin());
      continue;
    }
    rest(now);
    wakes_at_ = next_wake();
    if (wakes_at_ == Time::max()) {
      leader_wakes_.wait(lock);
    } else if (leader_wakes_.wait_until(lock, clock_time(wakes_at_)) == std::cv_status::timeout) {
      alarm_.rang(monotonic_now() - wakes_at_);
    }
  }
  return {};
}

void Timekeeper::send_next(std::unique_lock<std::mutex>& lock) {
  has_leader_ = true;
  auto next = wait_for_next(lock);
  has_leader_ = false;
  wakes_at_ = Time::max();
  if (next.empty()) return;
  // Answers may take a while to copy: the next one has another thread.
  if (next_wake() != Time::max()) follower_wakes_.notify_one();
  lock.unlock();
  stay_awake_until(next.key());
  next.mapped().answer->send();
  next.mapped().answer.reset();
  lock.lock();
}

void Timekeeper::answer_what_is_due() {
  prefer_this_thread();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (has_leader_) {
      follower_wakes_.wait(lock);
    } else {
      send_next(lock);
    }
  }
}

std::vector<ByteRange> Timekeeper::pages_under_way(const model::LockLost& lost) const {
  std::vector<ByteRange> pages;
  for (const auto& [ticket, waiting] : waiting_) {
    const model::Request& request = waiting.request;
    const bool same = request.client == lost.client && request.file == lost.file;
    const ByteRange bytes = request.locked();
    if (!same || !is_on_bytes(request.kind) || bytes.empty()) continue;
    const std::uint64_t first = bytes.offset / kCachePageBytes * kCachePageBytes;
    const std::uint64_t end =
        (bytes.end() + kCachePageBytes - 1) / kCachePageBytes * kCachePageBytes;
    const ByteRange both = intersect({first, end - first}, lost.range);
    if (!both.empty()) pages.push_back(both);
  }
  std::ranges::sort(pages, {}, &ByteRange::offset);
  return pages;
}

/// Answers to writes wait for it.
void Timekeeper::drop(const model::LockLost& lost, ByteRange range) {
  const std::uint64_t number = ++last_drop_;
  dropping_[lost.file].insert(number);
  model::LockLost part = lost;
  part.range = range;
  droppers_[lost.client]->add(part,
                              [this, file = lost.file, number] { pages_dropped(file, number); });
}

void Timekeeper::drop_unseen(const model::LockLost& lost, ByteRange range) {
  model::LockLost part = lost;
  part.range = range;
  droppers_[lost.client]->add(part);
}

void Timekeeper::drop_pages_of(const model::LockLost& lost, UnderWay under_way) {
  // A Dropper that ends may be who makes the model go on.
  if (stopping_ || lost.client >= droppers_.size()) return;
  // Pages of requests under way are locked, and come last, as the Dropper does wait for them. Where
  // they come with bytes that are new, nobody else waits for them.
  const std::vector<ByteRange> locked = pages_under_way(lost);
  std::uint64_t next = lost.range.offset;
  for (const ByteRange& pages : locked) {
    if (pages.offset > next) {
      drop(lost, {next, pages.offset - next});
    }
    next = std::max(next, pages.end());
  }
  if (next < lost.range.end()) {
    const bool to_the_end = lost.range.end() == all;
    drop(lost, {next, to_the_end ? all : lost.range.end() - next});
  }
  for (const ByteRange& pages : locked) {
    if (under_way == UnderWay::kNew) {
      drop_unseen(lost, pages);
    } else {
      drop(lost, pages);
    }
  }
}

void Timekeeper::drop_pages_of_others(model::ClientId client, model::FileId file) {
  const std::lock_guard lock(mutex_);
  for (model::ClientId other = 0; other < setup_.machine.client.count; ++other) {
    if (other == client) continue;
    drop_pages_of({.client = other, .file = file, .range = {0, all}, .at = monotonic_now()},
                  UnderWay::kOld);
  }
}

void Timekeeper::tell_size(model::ClientId client, model::FileId file) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || client >= droppers_.size()) return;
  drop({.client = client, .file = file, .at = monotonic_now()}, {});
}

void Timekeeper::drop_pages_then(model::ClientId client,
                                 model::FileId file,
                                 std::function<void()> then) {
  const model::LockLost all_of_it{
      .client = client, .file = file, .range = {0, all}, .at = monotonic_now()};
  droppers_.at(client)->add(all_of_it, std::move(then));
}

void Timekeeper::pages_dropped(model::FileId file, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto drops = dropping_.find(file);
  drops->second.erase(number);
  if (drops->second.empty()) dropping_.erase(drops);
  for (auto it = due_.begin(); it != due_.end();) {
    const auto delayed = it++;
    const Due& due = delayed->second;
    if (due.file != file || delayed->first == due.when || waits_for_pages(due)) continue;
    auto node = due_.extract(delayed);
    node.key() = node.mapped().when;
    due_.insert(std::move(node));
  }
  wake_leader_if_earlier();
}

}  // namespace forebay::emufs
