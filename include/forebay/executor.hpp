// SPDX-License-Identifier: Apache-2.0
// Executor: where continuations and coroutines run. Forebay never runs code of the caller on an
// agent's thread. An agent only posts Work to an Executor, and a thread of the caller runs it. A
// task runtime (Charm++, TBB, an event loop) implements this interface.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/detail/origin_process.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

namespace forebay {

/// A unit of work, owned by the poster. Queues link it in place, so a post allocates nothing.
struct Work {
  void (*run)(Work&) noexcept =
      nullptr;           ///< called once for each post, on a thread of the executor
  Work* next = nullptr;  ///< for use by the executor between post and run
};

/// Runs posted work on threads of the caller.
class FOREBAY_EXPORT Executor {
 public:
  virtual ~Executor();

  /// Queues `work`, to call `work.run(work)` once. Called from any thread, including agents: it
  /// must not block, throw, or run the work inline. The caller keeps the work alive until it has
  /// run.
  virtual void post(Work& work) noexcept = 0;

  /// Returns true if a coroutine may copy once from the page cache on this thread before it is
  /// suspended; the copy often makes suspension unnecessary. Called on the thread of the coroutine.
  /// Each true counts as one use. Return false to run all other tasks first.
  virtual bool try_acquire_inline_copy() noexcept { return false; }

  /// Returns true if threads of the executor copy from the page cache instead of sleeping. Called
  /// from any thread.
  virtual bool can_help_when_idle() const noexcept { return false; }
};

/// The default executor: a queue that its owner runs by calling poll() or wait(), from any number
/// of threads. The queue must be empty at destruction: remaining work never runs. In a child of
/// fork(), poll() and wait() of a loop of the parent return 0 at once.
class FOREBAY_EXPORT EventLoop final : public Executor {
 public:
  EventLoop();
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void post(Work& work) noexcept override;

  /// True a few times between two calls of poll() or wait().
  bool try_acquire_inline_copy() noexcept override;
  /// True if threads of this loop sleep in wait() while idle. False if the loop is run by poll()
  /// alone: from a foreign loop that watches event_fd(), or by a thread that spins.
  bool can_help_when_idle() const noexcept override {
    return static_cast<bool>(idle_work_) && !is_poll_only_.load(std::memory_order_relaxed);
  }

  /// Runs all work that is queued now. Returns the number of units that ran. Never blocks.
  std::size_t poll();

  /// Blocks until work is queued or interrupt() is called, then runs the queued work. Returns the
  /// number of units that ran.
  std::size_t wait();

  /// Sets a function that wait() calls instead of sleeping: on the waiting thread, while the queue
  /// is empty, repeatedly as long as it returns true. Call before several threads use the loop.
  void set_idle_work(std::function<bool()> idle_work) { idle_work_ = std::move(idle_work); }

  /// Announces new idle work: one thread that sleeps in wait() calls the function. From any thread;
  /// cheap while no thread sleeps.
  void notify_idle_work() noexcept;

  /// Makes one call of wait(), the current or the next one, return at once. From any thread.
  void interrupt() noexcept;

  /// A descriptor that is readable while work is queued, for foreign loops (epoll, libuv, asyncio).
  /// Owned by the loop. -1 if the system provides none.
  int event_fd();

 private:
  Work* take_all();
  void record_poll() noexcept;
  static std::size_t run_chain(Work* chain);
  bool is_idle();
  void run_idle_work();

  std::mutex mutex_;
  std::condition_variable posted_;
  Work* first_ = nullptr;
  Work* last_ = nullptr;
  bool interrupted_ = false;
  bool idle_work_offered_ = false;
  std::atomic<unsigned> sleepers_{0};
  std::atomic<int> inline_copies_left_{0};
  std::atomic<bool> is_poll_only_{false};  // since the last wait()
  int empty_polls_ = 0;
  int event_fd_ = -1;
  std::function<bool()> idle_work_;
  const detail::OriginProcess origin_;
};

}  // namespace forebay
