// SPDX-License-Identifier: Apache-2.0
// Tells whoever called the program how far it is: JSON lines on standard error, few enough that
// they cost nothing. Counting is an atomic addition, so every worker may report every block.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace forebay::command {

/// What is counted and how much of it there is.
struct ProgressGoal {
  std::string what;  ///< for people: "reading snapshot.tipsy"
  std::string unit;  ///< "bytes" or "particles"
  std::uint64_t total = 0;
};

enum class ProgressMode : std::uint8_t { kSilent, kJsonLines };

/// Thread-safe. Prints at most kLinesPerSecond, and one line at the end if all was done.
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
  std::mutex mutex_;  // guards what follows
  Clock::time_point next_;
  bool ended_ = false;
};

}  // namespace forebay::command
