// SPDX-License-Identifier: Apache-2.0
#include "tools/run/file_stream.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace forebay::run {

namespace {

constexpr std::uint64_t kPageBytes = 4096;
/// A read that took longer has waited for storage, apart from this time for each KiB.
constexpr std::uint64_t kFastNs = 150'000;
constexpr std::uint64_t kFastNsPerKib = 500;
/// Ranges are merged if fewer bytes are between them.
constexpr std::uint64_t kGapBytes = 16 * 1024;
/// The kernel's readahead suffices if fewer than 1 / this of the reads are slow.
constexpr std::size_t kSlowShare = 8;
constexpr std::uint64_t kMissesMin = 4;
constexpr std::size_t kPredictionsMax = 512;
/// Of a call, in Linux. A record can have a longer request, which reads up to the end of the file.
constexpr std::uint64_t kReadBytesMax = 0x7fff'f000;
/// After this number of ranges that were cached, a file counts as cached.
constexpr std::uint32_t kCachedMax = 32;

/// The time of a record instead of the present.
class RecordClock final : public Clock {
 public:
  explicit RecordClock(std::uint64_t ns) : now_(std::chrono::nanoseconds(ns)) {}
  TimePoint now() const noexcept override { return now_; }

 private:
  TimePoint now_;
};

bool is_fast(const trace::TraceRecord& record) {
  return record.duration_ns < kFastNs + record.size / 1024 * kFastNsPerKib;
}

/// Bytes of the pages that a read needs.
std::uint64_t page_bytes(const trace::TraceRecord& record) {
  const std::uint64_t first = record.offset / kPageBytes;
  const std::uint64_t end = (record.offset + record.size + kPageBytes - 1) / kPageBytes;
  return (end - first) * kPageBytes;
}

}  // namespace

StreamCounts& StreamCounts::operator+=(const StreamCounts& other) noexcept {
  for (const auto member :
       {&StreamCounts::reads, &StreamCounts::bytes, &StreamCounts::hits, &StreamCounts::late,
        &StreamCounts::misses, &StreamCounts::ahead_bytes, &StreamCounts::loaded_bytes,
        &StreamCounts::hit_bytes, &StreamCounts::wait_ns, &StreamCounts::miss_ns})
    this->*member += other.*member;
  return *this;
}

void FileStream::add_hint(push::HintOrigin origin, const push::FileHint& hint) {
  if (!accesses_) accesses_ = std::make_unique<push::AccessStream>();
  if (hint.signature != nullptr)
    accesses_->add_hint(origin, hint.signature);
  else
    accesses_->add_hint(push::HintOrigin::kSource, hint.parametric);
  has_hint_ = true;
}

bool FileStream::is_left_to_kernel(const StreamCounts& counts) noexcept {
  return counts.misses * kSlowShare < counts.reads - counts.hits - counts.late;
}

/// The reads that were read ahead would have waited as long as the others, but not more of them
/// than the agent has made from storage. Few others are no measure of that time.
double FileStream::end(std::chrono::nanoseconds latency) noexcept {
  const LoadedPages loaded = file_->take_loaded();
  counts_.loaded_bytes += loaded.bytes;
  const auto misses = static_cast<double>(counts_.misses);
  const bool is_measured = counts_.misses >= kMissesMin || (misses > 0 && latency.count() == 0);
  const double wait_ns = is_measured ? static_cast<double>(counts_.miss_ns) / misses
                                     : static_cast<double>(latency.count());
  const auto late_ns = static_cast<double>(counts_.wait_ns - counts_.miss_ns);
  const std::uint64_t aided = std::min(counts_.hits + counts_.late, loaded.waits);
  const double aided_ns = static_cast<double>(aided) * wait_ns;
  return std::max(0.0, aided_ns - late_ns) / 1e9;
}

bool FileStream::observe(const trace::TraceRecord& record,
                         PageWarmer& warmer,
                         std::uint64_t loads_max) {
  const trace::Access access{record.offset, record.size};
  const bool fast = is_fast(record);
  ++counts_.reads;
  counts_.bytes += record.size;
  if (!fast) {
    counts_.wait_ns += record.duration_ns;
    file_->reset_cached_in_a_row();  // ranges that the agent itself has read count, too
  }
  if (begin_ns_ == 0) begin_ns_ = record.begin_ns;
  end_ns_ = std::max(end_ns_, record.begin_ns + record.duration_ns);
  if (!accesses_ && !fast) start_predictions(record);
  if (reads_.size() < kReadsKeptMax) reads_.push_back(access);
  const bool is_timed = (record.flags & trace::kFlagTimeUnknown) == 0;
  if (!accesses_) {
    if (is_timed) unaided_.record_hit();
    return true;
  }
  push::AheadQueue& ahead = accesses_->ahead();
  const bool had_ahead = !ahead.is_empty();
  const auto outcome = fast        ? read::AccessOutcome::kHit
                       : had_ahead ? read::AccessOutcome::kLate
                                   : read::AccessOutcome::kMiss;
  const bool held = accesses_->observe(access, RecordClock(record.begin_ns), outcome);
  const bool was_ahead = had_ahead && held;
  counts_.hits += was_ahead && fast ? 1 : 0;
  counts_.late += was_ahead && !fast ? 1 : 0;
  counts_.misses += !was_ahead && !fast ? 1 : 0;
  if (!was_ahead && !fast) counts_.miss_ns += record.duration_ns;
  if (was_ahead) counts_.hit_bytes += page_bytes(record);
  if (!was_ahead && is_timed) fast ? unaided_.record_hit() : unaided_.record_miss();
  if (!held) {
    warmer.cancel(number_);
    ahead.clear();
  }
  if (is_worthwhile()) push_ahead(warmer, loads_max, loads_max * PageWarmer::kPartBytes);
  return fast;
}

/// Before the first read that waits. Those before it were not predicted.
void FileStream::start_predictions(const trace::TraceRecord& record) {
  accesses_ = std::make_unique<push::AccessStream>();
  if (reads_.size() == kReadsKeptMax) return;  // some are not kept
  for (const trace::Access& read : reads_)
    accesses_->observe(read, RecordClock(record.begin_ns), read::AccessOutcome::kMiss);
}

/// Not if the file is in the page cache, or if the kernel's readahead suffices.
bool FileStream::is_worthwhile() const noexcept {
  if (file_->cached_in_a_row() >= kCachedMax) return false;
  return unaided_.misses() * kSlowShare >= unaided_.size() && unaided_.misses() > 0;
}

/// Of a predicted read, at most the first `read_bytes_max`.
void FileStream::push_ahead(PageWarmer& warmer,
                            std::uint64_t loads_max,
                            std::uint64_t read_bytes_max) {
  std::array<push::Prediction, kPredictionsMax> buffer;
  push::AheadQueue& ahead = accesses_->ahead();
  const auto predictions = accesses_->next_pushes(buffer, loads_max, warmer.latency());
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // of the range that is collected
  for (const push::Prediction& next : predictions) {
    if (ahead.is_full() || ahead.loads() >= loads_max) break;
    const std::uint64_t first = next.offset / kPageBytes * kPageBytes;
    const std::uint64_t bytes = std::min(next.size, read_bytes_max);
    const std::uint64_t last = (next.offset + bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    const bool is_near = end > begin && first >= begin && first <= end + kGapBytes;
    const std::uint64_t new_bytes = is_near ? (last > end ? last - end : 0) : last - first;
    const bool is_new_load = !is_near || new_bytes >= PageWarmer::kPartBytes;
    const std::uint64_t loads = is_new_load ? 1 + new_bytes / PageWarmer::kPartBytes : 0;
    ahead.push(next.offset, next.size, static_cast<std::uint32_t>(loads));
    if (is_near) {
      end = std::max(end, last);
      continue;
    }
    warm(warmer, begin, end);
    begin = first;
    end = last;
  }
  warm(warmer, begin, end);
}

void FileStream::warm(PageWarmer& warmer, std::uint64_t begin, std::uint64_t end) {
  if (end <= begin) return;
  const std::uint64_t size = std::min(end - begin, kReadBytesMax);
  warmer.add({file_, begin, size, number_});
  counts_.ahead_bytes += size;
}

}  // namespace forebay::run
