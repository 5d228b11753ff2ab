// SPDX-License-Identifier: Apache-2.0
#include "scheduler.hpp"

#include <chrono>

namespace forebay::charm::testing {

namespace {

struct Current {
  Scheduler* scheduler = nullptr;
  std::size_t pe = 0;
  UserThread* user_thread = nullptr;
};
thread_local Current current;

}  // namespace

Scheduler& current_scheduler() { return *current.scheduler; }
std::size_t current_pe() { return current.pe; }
UserThread* current_user_thread() { return current.user_thread; }

UserThread::UserThread(std::function<void()> code, std::size_t pe) {
  thread_ = std::thread([this, code = std::move(code), pe, scheduler = current.scheduler] {
    current = {scheduler, pe, this};
    wait_for(Side::kThread);
    code();
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    running_ = Side::kPe;
    changed_.notify_all();
  });
}

UserThread::~UserThread() { thread_.join(); }

void UserThread::hand_over_to(Side side) {
  const std::lock_guard lock(mutex_);
  running_ = side;
  changed_.notify_all();
}

void UserThread::wait_for(Side side) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, side] { return running_ == side; });
}

void UserThread::resume() {
  hand_over_to(Side::kThread);
  wait_for(Side::kPe);
}

void UserThread::suspend() {
  hand_over_to(Side::kPe);
  wait_for(Side::kThread);
}

void Pe::wake() noexcept {
  const std::lock_guard lock(mutex);
  is_woken = true;
  changed.notify_one();
}

std::deque<std::function<void()>> Pe::wait_for_messages() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return is_woken; });
  is_woken = false;
  return std::exchange(messages, {});
}

Scheduler::Scheduler(std::size_t process_count, std::size_t pes_per_process)
    : pes_per_process_(pes_per_process) {
  for (std::size_t i = 0; i < process_count; ++i)
    processes_.push_back(std::make_unique<Process<TestCallback>>());
  for (std::size_t i = 0; i < process_count * pes_per_process; ++i)
    pes_.push_back(std::make_unique<Pe>());
  for (std::size_t i = 0; i < pes_.size(); ++i)
    pes_[i]->thread = std::thread([this, i] { run(i); });
}

Scheduler::~Scheduler() {
  is_stopping_ = true;
  for (auto& pe : pes_) {
    {
      const std::lock_guard lock(pe->mutex);
      pe->is_woken = true;
      pe->changed.notify_one();
    }
    pe->thread.join();
  }
  threads_.clear();
  processes_.clear();
  // What agents posted meanwhile runs here, as the PEs have ended.
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    current = {this, i, nullptr};
    pes_[i]->poll();
  }
}

void Scheduler::set_runtime(std::size_t number, RuntimeFactory factory) {
  processes_[number] = std::make_unique<Process<TestCallback>>(std::move(factory));
}

void Scheduler::post(std::size_t pe, std::function<void()> code) {
  Pe& target = *pes_[pe];
  const std::lock_guard lock(target.mutex);
  target.messages.push_back(std::move(code));
  target.is_woken = true;
  target.changed.notify_one();
}

void Scheduler::run(std::size_t number) {
  current = {this, number, nullptr};
  Pe& pe = *pes_[number];
  while (!is_stopping_) {
    const auto messages = pe.wait_for_messages();
    pe.poll();
    for (const auto& message : messages)
      message();
  }
}

void Scheduler::place(std::uint64_t object, std::size_t pe) {
  const std::lock_guard lock(mutex_);
  places_[object] = pe;
}

std::size_t Scheduler::pe_of(std::uint64_t object) {
  const std::lock_guard lock(mutex_);
  return places_.at(object);
}

void Scheduler::start_thread(std::function<void()> code) {
  auto thread = std::make_unique<UserThread>(std::move(code), current.pe);
  UserThread& started = *thread;
  {
    const std::lock_guard lock(mutex_);
    threads_.push_back(std::move(thread));
  }
  started.resume();
}

void Scheduler::arrive() {
  const std::lock_guard lock(mutex_);
  ++arrivals_;
  arrived_.notify_all();
}

bool Scheduler::wait_for(std::size_t count) {
  std::unique_lock lock(mutex_);
  return arrived_.wait_for(lock, std::chrono::minutes(1), [&] { return arrivals_ >= count; });
}

void Scheduler::transmit(std::size_t process, Command<TestCallback> command) {
  const std::size_t pe = process * pes_per_process_ + command.number % pes_per_process_;
  const bool is_numbered = command.number != 0 && command.kind != CommandKind::kDone;
  auto deliver = [this, pe, command = std::move(command)] { process_of(pe).receive(command); };
  std::unique_lock lock(mutex_);
  const auto held = held_.find(process);
  if (is_reordering_ && is_numbered && held == held_.end()) {
    held_.emplace(process, std::move(deliver));
    return;
  }
  std::function<void()> earlier;
  if (is_numbered && held != held_.end()) {
    earlier = std::move(held->second);
    held_.erase(held);
  }
  lock.unlock();
  post(pe, std::move(deliver));
  if (earlier) post(pe, std::move(earlier));
}

/// Forwards the message until it meets its object.
void deliver(const TestCallback& callback, std::shared_ptr<MessageBuffers> message) {
  Scheduler& scheduler = current_scheduler();
  const std::size_t pe = scheduler.pe_of(callback.object);
  scheduler.post(pe, [callback, message = std::move(message)] {
    if (current_scheduler().pe_of(callback.object) != current_pe())
      return deliver(callback, message);
    callback.receive(*message);
  });
}

}  // namespace forebay::charm::testing
