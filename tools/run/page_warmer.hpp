// SPDX-License-Identifier: Apache-2.0
// PageWarmer: reads ranges of files into the page cache, several at a time, and drops the bytes.
// posix_fadvise() and readahead() would read only the kernel's readahead of a range.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "read/mean_latency.hpp"
#include "tools/run/concurrency_limit.hpp"
#include "tools/run/lazy_file.hpp"

namespace forebay::run {

/// A range of a file, for the stream that will read it.
struct WarmRange {
  std::shared_ptr<LazyFile> file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t stream = 0;
};

/// One thread.
class PageWarmer {
 public:
  /// Larger ranges are split into parts of this size, which are read in parallel.
  static constexpr std::uint64_t kPartBytes = 128 * 1024;
  /// Files that were not used for this time are closed.
  static constexpr std::chrono::seconds kIdleMax{5};

  /// Threads start when they are needed.
  explicit PageWarmer(std::chrono::milliseconds idle_max = kIdleMax) : idle_max_(idle_max) {}
  ~PageWarmer() { stop(); }
  PageWarmer(const PageWarmer&) = delete;
  PageWarmer& operator=(const PageWarmer&) = delete;

  void add(const WarmRange& range);
  /// Drops ranges of a stream that have not begun.
  void cancel(std::uint64_t stream);
  /// Drops all ranges, and waits for those in progress.
  void stop();

  /// Bytes read so far.
  std::uint64_t bytes_read() const;
  /// Recent mean time of a read from storage; 0: unknown.
  std::chrono::nanoseconds latency() const noexcept { return latency_.value(); }
  /// The same while few reads are in progress.
  std::chrono::nanoseconds unloaded_latency() const noexcept { return unloaded_latency_.value(); }
  /// Reads that may be in progress.
  unsigned concurrency() const;

 private:
  void work();
  void close_idle(std::unique_lock<std::mutex>& lock);
  enum class Load : std::uint8_t { kLow, kAny };
  void read(const WarmRange& range, std::vector<std::byte>& into, Load load);
  bool has_work() const noexcept {
    return is_stopping_ || (!ranges_.empty() && in_progress_ < limit_.value());
  }

  const std::chrono::milliseconds idle_max_;
  read::MeanLatency latency_;
  read::MeanLatency unloaded_latency_;
  std::vector<std::thread> threads_;
  mutable std::mutex mutex_;  ///< guards the members below
  std::condition_variable added_;
  std::deque<WarmRange> ranges_;
  std::set<std::weak_ptr<LazyFile>, std::owner_less<>> used_files_;  ///< which may be open
  TimePoint next_close_ = {};
  ConcurrencyLimit limit_;
  unsigned in_progress_ = 0;
  unsigned idle_ = 0;
  bool is_stopping_ = false;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace forebay::run
