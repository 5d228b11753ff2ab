// SPDX-License-Identifier: Apache-2.0
// Peak memory of the program. The resident set size counts a page once for each address where it is
// mapped, and Forebay maps its window twice. The proportional set size counts it once, but the
// kernel keeps no peak of it, so a thread samples it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>

namespace forebay::tipsy {

struct PeakMemory {
  std::uint64_t pss_bytes = 0;  ///< the largest sampled proportional set size
  std::uint64_t rss_bytes = 0;  ///< the kernel's peak of the resident set size
};

/// Samples 20 times a second from construction to stop(), and at both ends.
class MemoryMonitor {
 public:
  MemoryMonitor();
  /// Stops sampling and returns the peaks so far; 0 if the system does not provide them. Call it
  /// once.
  PeakMemory stop();

 private:
  void sample_loop(const std::stop_token& stopping);

  std::uint64_t pss_bytes_max_ = 0;  // used by the sampling thread until it has ended
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace forebay::tipsy
