// SPDX-License-Identifier: Apache-2.0
// Progress of a program as JSON lines on standard error, at most 10 per second. Counting is one
// atomic addition, so any worker may report every block.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace forebay::command {

/// The unit of progress and its total.
struct ProgressGoal {
  std::string label;  ///< description for display: "reading snapshot.tipsy"
  std::string unit;   ///< "bytes" or "particles"
  std::uint64_t total = 0;
};

enum class ProgressMode : std::uint8_t { kSilent, kJsonLines };

/// Thread-safe. Prints at most kLinesPerSecond lines, and a last one when `total` is reached.
class Progress {
 public:
  static constexpr int kLinesPerSecond = 10;

  Progress(ProgressMode mode, ProgressGoal goal);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t amount);

 private:
  using Clock = std::chrono::steady_clock;
  void print(std::uint64_t done) const;

  const ProgressMode mode_;
  const ProgressGoal goal_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;  // guards the members below
  Clock::time_point next_print_;
  bool is_finished_ = false;
};

}  // namespace forebay::command
