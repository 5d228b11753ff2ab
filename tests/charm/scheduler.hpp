// SPDX-License-Identifier: Apache-2.0
// A task system as Charm++ is one, in one process: PEs are threads with queues of messages, objects
// live on one PE and migrate, and a callback sends a message to the PE where its object lives then.
// A process of the system is a group of PEs with a Runtime of its own.
#pragma once

#include <forebay/charm.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "message.hpp"

namespace forebay::charm::testing {

class Scheduler;

/// Calls `receive` with a message on the PE where `object` lives when the message is delivered.
struct TestCallback {
  std::uint64_t object = 0;
  std::function<void(MessageBuffers&)> receive = {};
};

/// A thread that runs while its PE waits, as a user-level thread does.
class UserThread {
 public:
  UserThread(std::function<void()> code, std::size_t pe);
  ~UserThread();
  void resume();   ///< on its PE: returns when the thread suspends or ends
  void suspend();  ///< on the thread
  bool is_done() const noexcept { return is_done_; }

 private:
  enum class Side { kPe, kThread };
  void hand_over_to(Side side);
  void wait_for(Side side);
  std::mutex mutex_;
  std::condition_variable changed_;
  Side running_ = Side::kPe;
  bool is_done_ = false;
  std::thread thread_;
};

/// A PE: one thread, its messages, and the queue that agents post to.
struct Pe final : PeQueue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> messages;
  bool is_woken = false;
  std::thread thread;

  /// Waits until it is woken, and takes its messages.
  std::deque<std::function<void()>> wait_for_messages();

 private:
  void wake() noexcept override;
};

/// Runs `process_count` processes of `pes_per_process` PEs until stop().
class Scheduler {
 public:
  Scheduler(std::size_t process_count, std::size_t pes_per_process);
  ~Scheduler();

  /// Replaces the Runtime of process `number`. Before its first call.
  void set_runtime(std::size_t number, RuntimeFactory factory);
  /// Runs `code` as a message on `pe`. From any thread.
  void post(std::size_t pe, std::function<void()> code);
  /// Creates an object on `pe`, or moves it there. From any thread.
  void place(std::uint64_t object, std::size_t pe);
  std::size_t pe_of(std::uint64_t object);
  /// Runs `code` on a UserThread of the current PE.
  void start_thread(std::function<void()> code);
  /// Runs PEs until `count` calls of arrive(). False after a minute without them.
  bool wait_for(std::size_t count);
  void arrive();
  /// Makes messages between processes arrive in reverse order, in pairs.
  void reorder_commands() { is_reordering_ = true; }
  void transmit(std::size_t process, Command<TestCallback> command);

  std::size_t process_count() const noexcept { return processes_.size(); }
  std::size_t pe_count() const noexcept { return pes_.size(); }
  Process<TestCallback>& process_of(std::size_t pe) { return *processes_[pe / pes_per_process_]; }
  Pe& pe(std::size_t number) { return *pes_[number]; }

 private:
  void run(std::size_t number);

  const std::size_t pes_per_process_;
  std::vector<std::unique_ptr<Pe>> pes_;
  std::vector<std::unique_ptr<Process<TestCallback>>> processes_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::size_t arrivals_ = 0;
  std::map<std::uint64_t, std::size_t> places_;
  std::vector<std::unique_ptr<UserThread>> threads_;
  bool is_reordering_ = false;
  std::map<std::size_t, std::function<void()>> held_;
  std::atomic<bool> is_stopping_ = false;
};

/// The scheduler, PE and user-level thread of the calling thread.
Scheduler& current_scheduler();
std::size_t current_pe();
UserThread* current_user_thread();
void deliver(const TestCallback& callback, std::shared_ptr<MessageBuffers> message);

}  // namespace forebay::charm::testing

template <>
struct forebay::charm::TaskSystemOf<forebay::charm::testing::TestCallback>
    : forebay::charm::testing::MessageSystem {
  using Callback = testing::TestCallback;

  template <class M>
  static void send(const Callback& callback, M* message) {
    testing::deliver(callback, std::shared_ptr<testing::MessageBuffers>(message));
  }
  static Process<Callback>& process() {
    return testing::current_scheduler().process_of(testing::current_pe());
  }
  static std::size_t process_count() { return testing::current_scheduler().process_count(); }
  static void transmit(std::size_t process, Command<Callback> command) {
    testing::current_scheduler().transmit(process, std::move(command));
  }
  static Executor& executor() { return testing::current_scheduler().pe(testing::current_pe()); }
  static testing::UserThread* current_thread() { return testing::current_user_thread(); }
  static void suspend() { testing::current_user_thread()->suspend(); }
  static void awaken(testing::UserThread* thread) { thread->resume(); }
};
