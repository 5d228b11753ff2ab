// SPDX-License-Identifier: Apache-2.0
// FileStream: the reads of one thread from one file under `forebay run`. It predicts the next ones
// and has their pages read ahead.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "push/access_stream.hpp"
#include "push/hint_file.hpp"
#include "tools/run/page_warmer.hpp"
#include "trace/trace_record.hpp"

namespace forebay::run {

/// What became of the reads of a stream.
struct StreamCounts {
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  std::uint64_t hits = 0;          ///< read ahead and found in the page cache
  std::uint64_t late = 0;          ///< read ahead, and not there in time
  std::uint64_t misses = 0;        ///< not read ahead, and slow
  std::uint64_t ahead_bytes = 0;   ///< to be read ahead
  std::uint64_t loaded_bytes = 0;  ///< of these, not in the page cache before
  std::uint64_t hit_bytes = 0;     ///< of hits and late reads
  std::uint64_t wait_ns = 0;       ///< of slow reads
  std::uint64_t miss_ns = 0;       ///< of misses

  std::uint64_t wasted_bytes() const noexcept {
    return loaded_bytes > hit_bytes ? loaded_bytes - hit_bytes : 0;
  }
  StreamCounts& operator+=(const StreamCounts& other) noexcept;
};

/// One thread at a time.
class FileStream {
 public:
  /// Reads kept for the profile.
  static constexpr std::size_t kReadsKeptMax = 8192;
  /// Of the first read, such as that of a whole library, these bytes are read ahead at most.
  static constexpr std::uint64_t kWholeBytesMax = std::uint64_t{64} << 20U;

  FileStream(std::shared_ptr<LazyFile> file, std::uint64_t number)
      : file_(std::move(file)), number_(number) {}

  void add_hint(push::HintOrigin origin, const push::FileHint& hint);
  /// Before the first read, if there is a hint.
  void begin(PageWarmer& warmer, std::uint64_t loads_max) {
    if (has_hint_) push_ahead(warmer, loads_max, kWholeBytesMax);
  }
  /// The program has made a read. False if it waited for storage.
  bool observe(const trace::TraceRecord& record, PageWarmer& warmer, std::uint64_t loads_max);

  /// True if the kernel's readahead suffices: few of the reads that were not read ahead are slow.
  static bool is_left_to_kernel(const StreamCounts& counts) noexcept;
  /// Adds what was read ahead to counts(). Returns an estimate of how much longer the reads would
  /// have waited. Once, at the end. `latency` is that of storage.
  double end(std::chrono::nanoseconds latency) noexcept;

  const std::string& path() const noexcept { return file_->path(); }
  const StreamCounts& counts() const noexcept { return counts_; }
  /// Begin of the first read, and end of the last one; 0: none.
  std::uint64_t begin_ns() const noexcept { return begin_ns_; }
  std::uint64_t end_ns() const noexcept { return end_ns_; }
  const std::vector<trace::Access>& reads() const noexcept { return reads_; }
  std::uint64_t number() const noexcept { return number_; }

 private:
  void start_predictions(const trace::TraceRecord& record);
  void push_ahead(PageWarmer& warmer, std::uint64_t loads_max, std::uint64_t read_bytes_max);
  bool is_worthwhile() const noexcept;
  void warm(PageWarmer& warmer, std::uint64_t begin, std::uint64_t end);

  const std::shared_ptr<LazyFile> file_;
  const std::uint64_t number_;  ///< for the warmer
  StreamCounts counts_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t end_ns_ = 0;
  std::vector<trace::Access> reads_;
  push::RecentOutcomes unaided_;  ///< whether reads that were not read ahead were fast
  bool has_hint_ = false;
  /// Most streams never wait for storage: it has 50 KiB.
  std::unique_ptr<push::AccessStream> accesses_;
};

}  // namespace forebay::run
