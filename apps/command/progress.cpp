// SPDX-License-Identifier: Apache-2.0
#include "command/progress.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace forebay::command {

namespace {
constexpr std::chrono::milliseconds kInterval{1000 / Progress::kLinesPerSecond};
}

Progress::Progress(ProgressMode mode, ProgressGoal goal)
    : mode_(mode), goal_(std::move(goal)), next_print_(Clock::now() + kInterval) {}

void Progress::advance(std::uint64_t amount) {
  const std::uint64_t done = done_.fetch_add(amount, std::memory_order_relaxed) + amount;
  if (mode_ == ProgressMode::kSilent) return;
  const bool is_last = done == goal_.total;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (is_last) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;  // another thread is printing
  }
  const Clock::time_point now = Clock::now();
  if (is_finished_ || (!is_last && now < next_print_)) return;
  next_print_ = now + kInterval;
  is_finished_ = is_last;
  print(done);
}

void Progress::print(std::uint64_t done) const {
  const nlohmann::ordered_json line{
      {"progress", done}, {"total", goal_.total}, {"unit", goal_.unit}, {"what", goal_.label}};
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace forebay::command
