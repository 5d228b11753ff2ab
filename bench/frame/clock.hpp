// SPDX-License-Identifier: Apache-2.0
// Time a benchmark took, on the wall and on processors.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace forebay::bench {

/// Starts when it is made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Processor time of this process, all threads, dead ones too; nanosecond resolution.
double process_cpu_seconds();

/// Processor time of the calling thread.
double thread_cpu_seconds();

/// One thread of this process, kernel workers of an io_uring among them.
struct ThreadTime {
  int id = 0;
  std::string name;
  double cpu_seconds = 0;
};

/// All living threads, the calling one too.
std::vector<ThreadTime> thread_times();

}  // namespace forebay::bench
