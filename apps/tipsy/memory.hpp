// SPDX-License-Identifier: Apache-2.0
// How much memory the program used at most. The resident size counts a page once for each place it
// is mapped at, and Forebay maps its window twice; the proportional size counts it once, but the
// kernel keeps no peak of it, so it is looked at from time to time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>

namespace forebay::tipsy {

struct MemoryPeaks {
  std::uint64_t pss_bytes = 0;  ///< the largest proportional set size seen
  std::uint64_t rss_bytes = 0;  ///< the kernel's own peak of the resident set size
};

/// Looks 20 times a second from its making to stop(), and at both ends.
class MemoryWatch {
 public:
  MemoryWatch();
  /// Ends watching; the peaks until now, 0 where the system does not tell. Call it once.
  MemoryPeaks stop();

 private:
  void watch(const std::stop_token& stopping);

  std::uint64_t pss_bytes_max_ = 0;  // of the watching thread until it has ended
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace forebay::tipsy
