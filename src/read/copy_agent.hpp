// SPDX-License-Identifier: Apache-2.0
// CopyAgent: a few threads that read buffered files with plain calls. Copying from the page cache
// is work, not waiting. An asynchronous interface between the thread that decides and the one that
// copies would only add wake-ups.
//
// If a read is only a copy, the thread that needs the data copies best, because the bytes then lie
// in its core's cache. So such sessions are left to their tasks' threads (help()) for a moment.
// This agent does the rest: loads that those threads do not do in time, for example while they
// compute. docs/decisions/0002-which-thread-copies.md has the measurements.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "read/read_agent.hpp"
#include "read/timer_queue.hpp"
#include "read/transfer_source.hpp"

namespace forebay::read {

class CopyAgent final : public ReadAgent {
 public:
  /// How long a session whose reads are copies is left to its tasks' threads.
  static constexpr std::chrono::microseconds kInitialDelay{200};
  /// The same if they copied recently. Longer, because each check by the agent takes some of their
  /// core's time.
  static constexpr std::chrono::microseconds kHelpedDelay{1000};
  /// Threads that copied within this time are expected to continue; they may have lost their core.
  static constexpr std::chrono::milliseconds kHelperTimeout{10};

  /// Starts fewer threads if the system refuses some; kLimit if it refuses all. `notify_helpers` is
  /// called when there may be work for help(), under a lock of this agent; it must not block. Any
  /// thread that waits, helps or releases a View may cause the call, even while the Runtime ends.
  /// It is not called after stop() has returned.
  static Result<std::shared_ptr<CopyAgent>> start(unsigned thread_count,
                                                  std::function<void()> notify_helpers);
  ~CopyAgent() override;
  CopyAgent(const CopyAgent&) = delete;
  CopyAgent& operator=(const CopyAgent&) = delete;

  void notify(const std::shared_ptr<TransferSource>& source) override;
  void notify_memory_released(const std::shared_ptr<TransferSource>& source) override;
  /// Each thread finishes its current read.
  void stop() override;

  /// Does one read of a session whose reads are copies, if one is pending. For a thread that would
  /// sleep otherwise.
  bool help();

 private:
  explicit CopyAgent(std::function<void()> notify_helpers)
      : notify_helpers_(std::move(notify_helpers)) {}
  void run();
  std::shared_ptr<TransferSource> next_source();
  void requeue_expired();
  static bool has_helpers(const TransferSource& source);
  void add_timer(const std::shared_ptr<TransferSource>& source, TimePoint when);
  void process_source(const std::shared_ptr<TransferSource>& source);
  void read_source(const std::shared_ptr<TransferSource>& source);
  std::shared_ptr<TransferSource> find_cached_source() const;
  static bool copy_next(const std::shared_ptr<TransferSource>& source,
                        LoadPriority least = LoadPriority::kHint);

  const std::function<void()> notify_helpers_;
  std::mutex mutex_;  // guards all members up to is_stopping_
  std::condition_variable work_available_;
  std::deque<std::shared_ptr<TransferSource>> ready_queue_;
  TimerQueue timers_;  // sessions to check at a certain time
  std::vector<std::shared_ptr<TransferSource>>
      active_;  // sessions for which a thread of this agent is reading
  unsigned idle_threads_ = 0;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::read
