// SPDX-License-Identifier: Apache-2.0
#include "command/progress.hpp"

#include <cstdio>

#include "command/command_result.hpp"

namespace forebay::command {

Status report(const ProgressSink& sink, const ProgressStep& step, const char* operation) {
  if (!sink || sink(step)) return {};
  return failure({.kind = ErrorClass::kCancelled, .operation = operation});
}

void ProgressLines::report(const ProgressStep& step) {
  const auto now = std::chrono::steady_clock::now();
  if (is_silent() || (step.done < step.total && now < next_print_)) return;
  next_print_ = now + std::chrono::milliseconds(1000 / kLinesPerSecond);
  const std::string line = dump({{"progress", step.done},
                                 {"total", step.total},
                                 {"unit", step.unit},
                                 {"what", step.what}},
                                -1) +
                           '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void Progress::advance(std::uint64_t amount) {
  const std::uint64_t done = done_.fetch_add(amount, std::memory_order_relaxed) + amount;
  if (lines_.is_silent()) return;
  const bool is_last = done == goal_.total;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (is_last) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;  // another thread is printing
  }
  if (is_finished_) return;
  is_finished_ = is_last;
  lines_.report({done, goal_.total, goal_.unit, goal_.label});
}

}  // namespace forebay::command
