// SPDX-License-Identifier: Apache-2.0
// Processor time from clocks, and threads from /proc/self/task.
#include "bench/frame/clock.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>

#include "tools/probe/text_file.hpp"

namespace forebay::bench {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) / kNanosecondsPerSecond;
}

double read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return seconds_of(now);
}

// The CPU clock of a thread of this process, as the kernel numbers them (CPUCLOCK_PERTHREAD |
// CPUCLOCK_SCHED below the inverted id). /proc/<id>/stat has the same time only in ticks of 10 ms.
clockid_t clock_of(int thread) {
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3U | 6U);
}

std::optional<double> cpu_seconds_of(int thread) {
  timespec now{};
  if (clock_gettime(clock_of(thread), &now) != 0) return std::nullopt;
  return seconds_of(now);
}

}  // namespace

double process_cpu_seconds() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

double thread_cpu_seconds() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

std::vector<ThreadTime> thread_times() {
  std::vector<ThreadTime> threads;
  std::error_code gone;  // a thread may end meanwhile, also between two steps
  std::filesystem::directory_iterator entry("/proc/self/task", gone);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(gone)) {
    const int id = std::atoi(entry->path().filename().c_str());
    const std::optional<double> seconds = cpu_seconds_of(id);
    if (seconds) threads.push_back({id, probe::read_text(entry->path() / "comm"), *seconds});
  }
  std::sort(threads.begin(), threads.end(),
            [](const ThreadTime& a, const ThreadTime& b) { return a.id < b.id; });
  return threads;
}

}  // namespace forebay::bench
