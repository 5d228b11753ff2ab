// SPDX-License-Identifier: Apache-2.0
// FileStream: the reads of one thread from one file under `forebay run`. It predicts the next ones
// and has their pages read ahead.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "push/access_stream.hpp"
#include "tools/run/page_warmer.hpp"
#include "trace/trace_record.hpp"

namespace forebay::run {

/// What became of the reads of a stream.
struct StreamCounts {
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  std::uint64_t hits = 0;    ///< read ahead and found in the page cache
  std::uint64_t late = 0;    ///< read ahead, and not there in time
  std::uint64_t misses = 0;  ///< not read ahead, and slow
  std::uint64_t ahead_bytes = 0;
  std::uint64_t wait_ns = 0;  ///< of slow reads

  StreamCounts& operator+=(const StreamCounts& other) noexcept;
};

/// One thread at a time.
class FileStream {
 public:
  /// Reads kept for the profile.
  static constexpr std::size_t kReadsKeptMax = 8192;

  FileStream(std::shared_ptr<LazyFile> file, std::uint64_t number)
      : file_(std::move(file)), number_(number) {}

  void add_hint(std::shared_ptr<const trace::Signature> signature);
  /// Before the first read, if there is a hint.
  void begin(PageWarmer& warmer, std::uint64_t loads_max) {
    if (has_hint_) push_ahead(warmer, loads_max);
  }
  /// The program has made a read. False if it waited for storage.
  bool observe(const trace::TraceRecord& record, PageWarmer& warmer, std::uint64_t loads_max);

  const StreamCounts& counts() const noexcept { return counts_; }
  const std::vector<trace::Access>& reads() const noexcept { return reads_; }
  std::uint64_t number() const noexcept { return number_; }

 private:
  void push_ahead(PageWarmer& warmer, std::uint64_t loads_max);
  bool is_worthwhile() const noexcept;
  void warm(PageWarmer& warmer, std::uint64_t begin, std::uint64_t end);

  const std::shared_ptr<LazyFile> file_;
  const std::uint64_t number_;  ///< for the warmer
  StreamCounts counts_;
  std::vector<trace::Access> reads_;
  push::RecentOutcomes unaided_;  ///< whether reads that were not read ahead were fast
  bool has_hint_ = false;
  /// Most streams are short: it has 50 KiB.
  std::unique_ptr<push::AccessStream> accesses_;
};

}  // namespace forebay::run
