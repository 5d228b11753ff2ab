// SPDX-License-Identifier: Apache-2.0
// Elapsed time and processor time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace forebay::bench {

/// Starts when constructed.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Processor time of this process, including ended threads; nanosecond resolution.
double process_cpu_seconds();

/// Processor time of the calling thread.
double thread_cpu_seconds();

/// One thread of this process, including kernel workers of io_uring.
struct ThreadTime {
  int id = 0;
  std::string name;
  double cpu_seconds = 0;
};

/// All living threads, including the calling one.
std::vector<ThreadTime> thread_times();

}  // namespace forebay::bench
