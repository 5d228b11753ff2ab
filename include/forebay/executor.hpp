// SPDX-License-Identifier: Apache-2.0
// Where continuations run. Forebay never runs a caller's code on an agent's thread: an agent only
// posts a piece of work to an Executor, and the caller's thread runs it. A task runtime (Charm++,
// TBB, an event loop) plugs in here.
#pragma once

#include <forebay/origin_process.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

namespace forebay {

/// A piece of work that belongs to whoever posts it; it is linked into a queue in place, so posting
/// allocates nothing.
struct Work {
  void (*run)(Work&) noexcept =
      nullptr;           ///< called once for each post, on a thread of the executor
  Work* next = nullptr;  ///< for the executor's use between post and run
};

/// Runs posted work on threads of the caller's.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Takes `work` over until it calls `work.run(work)`, once. Called from any thread, an agent's
  /// among them: it must not block, not throw and not run the work itself. The work is alive until
  /// it has run.
  virtual void post(Work& work) noexcept = 0;

  /// Whether a coroutine that is about to be suspended may first spend the time of one copy from
  /// the page cache on its own thread, after which it often need not be suspended at all. Asked on
  /// that thread; each yes counts as used. An executor that says no gives every other task its turn
  /// first.
  virtual bool grants_inline_work() noexcept { return false; }

  /// Whether its threads copy from the page cache instead of sleeping. From any thread.
  virtual bool works_while_idle() const noexcept { return false; }
};

/// The default executor: a queue that the owner empties by calling poll() or wait(). Any number of
/// threads may do so.
/// At its end the queue must be empty: work that is still in it never runs. In a child of fork(), a
/// loop of the parent is empty: poll() and wait() return 0 at once.
class EventLoop final : public Executor {
 public:
  EventLoop();
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void post(Work& work) noexcept override;

  /// A few times between two calls of poll() or wait().
  bool grants_inline_work() noexcept override;
  /// True while threads sleep in wait() when there is nothing to do. A loop that is emptied by
  /// poll() alone, because a foreign loop watches its descriptor or somebody spins, has none that
  /// would.
  bool works_while_idle() const noexcept override {
    return static_cast<bool>(idle_work_) && !only_polled_.load(std::memory_order_relaxed);
  }

  /// Runs all work that is queued now; returns how many pieces ran. Never blocks.
  std::size_t poll();

  /// Blocks until work is queued or interrupt() was called, then runs what is queued; returns how
  /// many pieces ran.
  std::size_t wait();

  /// Something useful that wait() may do instead of sleeping: called on the waiting thread while
  /// nothing is queued, as long as it returns true. Set it before the loop is used by several
  /// threads.
  void set_idle_work(std::function<bool()> idle_work) { idle_work_ = std::move(idle_work); }

  /// Says that there may be such work again: a thread that sleeps in wait() asks for it. From any
  /// thread; cheap while nobody sleeps.
  void offer_idle_work() noexcept;

  /// Makes one wait(), this or the next one, return at once. May be called from any thread.
  void interrupt() noexcept;

  /// A descriptor that is readable while work is queued, for foreign loops (epoll, libuv, asyncio).
  /// The loop owns it. Returns -1 if the system refuses one.
  int event_fd();

 private:
  Work* take_all();
  void note_poll() noexcept;
  static std::size_t run_chain(Work* chain);
  bool nothing_to_do();
  void work_while_idle();

  std::mutex mutex_;
  std::condition_variable arrived_;
  Work* first_ = nullptr;
  Work* last_ = nullptr;
  bool interrupted_ = false;
  bool idle_work_offered_ = false;
  std::atomic<unsigned> sleepers_{0};
  std::atomic<int> inline_work_left_{0};
  std::atomic<bool> only_polled_{false};  // since the last wait()
  int fruitless_polls_ = 0;
  int event_fd_ = -1;
  std::function<bool()> idle_work_;
  const detail::OriginProcess origin_;
};

}  // namespace forebay
