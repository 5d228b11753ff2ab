// SPDX-License-Identifier: Apache-2.0
// Progress of a program as JSON lines on standard error, and of a tool as calls of a function.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace forebay::command {

/// Progress of one piece of work.
struct ProgressStep {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::string unit;  ///< of both: "bytes", "particles", "runs"
  std::string what;  ///< the piece of work; a new text begins a new bar
};

/// Receives the progress of a tool. May be called by any thread, by one at a time. Returning false
/// ends the tool with kCancelled.
using ProgressSink = std::function<bool(const ProgressStep& step)>;

/// Calls `sink`, unless it is empty. kCancelled with `operation` if it returns false.
Status report(const ProgressSink& sink, const ProgressStep& step, const char* operation);

enum class ProgressMode : std::uint8_t { kSilent, kJsonLines };

/// Writes {"progress","total","unit","what"} lines, at most kLinesPerSecond, and always the last
/// one of a piece of work. One thread at a time.
class ProgressLines {
 public:
  static constexpr int kLinesPerSecond = 20;

  explicit ProgressLines(ProgressMode mode) : mode_(mode) {}
  void report(const ProgressStep& step);
  bool is_silent() const noexcept { return mode_ == ProgressMode::kSilent; }

 private:
  const ProgressMode mode_;
  std::chrono::steady_clock::time_point next_print_{};
};

/// The unit of progress and its total.
struct ProgressGoal {
  std::string label;  ///< description for display: "reading snapshot.tipsy"
  std::string unit;   ///< "bytes" or "particles"
  std::uint64_t total = 0;
};

/// Counts towards a goal and prints ProgressLines. Thread-safe: counting is one atomic addition, so
/// any worker may report every block.
class Progress {
 public:
  Progress(ProgressMode mode, ProgressGoal goal) : goal_(std::move(goal)), lines_(mode) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t amount);

 private:
  const ProgressGoal goal_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;  // guards the members below
  ProgressLines lines_;
  bool is_finished_ = false;
};

}  // namespace forebay::command
