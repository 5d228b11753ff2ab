// SPDX-License-Identifier: Apache-2.0
// CopyAgent: a few threads that read buffered files with plain calls. Copying from the page cache
// is work, not waiting: an asynchronous interface between the thread that decides and the one that
// copies would only add wake-ups.
//
// Where reading is mere copying, the thread that wants the data does it best: what it copied lies
// in the cache of its own core. So such sessions are left to their own threads (help()) for a
// moment, and these agents do what nobody came for in time: what is wanted while the application
// computes. docs/decisions/0002-which-thread-copies.md has the measurements.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "read/agent.hpp"
#include "read/retries.hpp"
#include "read/transfer_source.hpp"

namespace forebay::read {

class CopyAgent final : public Agent {
 public:
  /// How long a session whose reads are copies is left to its own threads; and how long when they
  /// have been copying: each look costs them some of their core.
  static constexpr std::chrono::microseconds kFirstChance{200};
  static constexpr std::chrono::microseconds kNextChance{1000};
  /// Threads that copied so lately will go on: they may have lost their core to somebody.
  static constexpr std::chrono::milliseconds kHelpersStay{10};

  /// Fewer threads if the system refuses some; kLimit if it refuses all.
  /// `call_helpers` is told when there may be something to help() with; it must not block. Whoever
  /// waits, helps or gives a View back may bring that about, on any thread, while the Runtime ends:
  /// it is called under a lock of this agent, and not any more once stop() has returned.
  static Result<std::shared_ptr<CopyAgent>> start(unsigned thread_count,
                                                  std::function<void()> call_helpers);
  ~CopyAgent() override;
  CopyAgent(const CopyAgent&) = delete;
  CopyAgent& operator=(const CopyAgent&) = delete;

  void serve(const std::shared_ptr<TransferSource>& source) override;
  void resume(const std::shared_ptr<TransferSource>& source) override;
  /// Each thread finishes the read it is in.
  void stop() override;

  /// Does one read of a session whose reads are copies, if there is one to do. For a thread that
  /// would sleep otherwise.
  bool help();

 private:
  explicit CopyAgent(std::function<void()> call_helpers) : call_helpers_(std::move(call_helpers)) {}
  void run();
  std::shared_ptr<TransferSource> next_source();
  void requeue_due();
  static bool has_helpers(const TransferSource& source);
  void look_later(const std::shared_ptr<TransferSource>& source, TimePoint when);
  void work_on(const std::shared_ptr<TransferSource>& source);
  void read_on(const std::shared_ptr<TransferSource>& source);
  std::shared_ptr<TransferSource> find_copying() const;
  static bool copy_once(const std::shared_ptr<TransferSource>& source,
                        Urgency least = Urgency::kHint);

  const std::function<void()> call_helpers_;
  std::mutex mutex_;  // guards what follows, up to stopping_
  std::condition_variable announced_;
  std::deque<std::shared_ptr<TransferSource>> inbox_;
  Retries later_;  // sessions to look at when their time has come
  std::vector<std::shared_ptr<TransferSource>>
      at_work_;  // those that a thread of ours is reading for
  unsigned idle_count_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::read
