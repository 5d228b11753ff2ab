// SPDX-License-Identifier: Apache-2.0
// TraceRecorder: records calls of all threads of a process into a trace, at the cost of a copy into
// memory for each call.
#pragma once

#include <forebay/detail/origin_process.hpp>
#include <forebay/error.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "trace/trace_ring.hpp"
#include "trace/trace_writer.hpp"

namespace forebay::trace {

/// A call that has returned.
struct TracedCall {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  TimePoint begin = {};  ///< on the steady clock
  TimePoint end = {};
  std::uint16_t file = kFileUnknown;  ///< from add_file()
  TraceOperation operation = TraceOperation::kRead;
  std::uint8_t flags = 0;
};

/// Each thread that records is a source of the trace and has a ring. A service thread empties the
/// rings and writes blocks. In a child of fork(), calls have no effect.
class TraceRecorder {
 public:
  struct Options {
    SourceInfo process = {};                 ///< of all sources, but for `thread`
    std::chrono::milliseconds interval{50};  ///< at which rings are emptied
  };

  /// `file` is empty and writable. Fails as TraceWriter::create() and start_service_thread().
  static Result<std::shared_ptr<TraceRecorder>> start(std::unique_ptr<storage::File> file,
                                                      Options options);
  /// Calls stop(). No other call may be active.
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  /// The number of the file in calls; kFileUnknown beyond the limit of files. Any thread. Takes a
  /// lock, never blocks for I/O.
  std::uint16_t add_file(const FileInfo& file);

  /// Any thread. Neither locks nor allocates, except in the first call of a thread for this
  /// recorder. An offset or size that exceeds the limits of the format is recorded as unknown.
  void record(const TracedCall& call);

  /// Writes what the rings hold, and ends the trace: later calls of record() have no effect on it.
  /// The Error is that of the first failed write, after which nothing was written. Does not sync.
  /// Blocks. One thread at a time.
  Status stop();

  /// Number of records that were dropped. Complete after a successful stop().
  std::uint64_t lost_records() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  struct Source {
    std::shared_ptr<TraceRing> ring;
    SourceInfo info;
    std::uint32_t number = 0;
  };
  struct Drained {
    Source source;
    TraceRing::Content content;
  };

  TraceRecorder(TraceWriter writer, Options options);
  TraceRing* find_ring();
  std::shared_ptr<TraceRing> add_ring();
  TraceRecord make_record(const TracedCall& call) const noexcept;
  void run();
  Status drain();
  Status write(const Drained& drained);
  void remove_source(std::uint32_t number);

  const Options options_;
  const std::uint64_t id_;  ///< unique in this process
  const TimePoint start_;
  detail::OriginProcess origin_;
  std::atomic<std::uint64_t> lost_{0};

  // Of the service thread, and of stop() after its end.
  TraceWriter writer_;
  std::uint32_t written_sources_ = 0;
  Status outcome_;

  std::mutex mutex_;
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  bool has_ended_ = false;           ///< nothing is written any more: threads get no ring
  std::vector<Source> sources_;      ///< those whose thread has not ended, by number
  std::vector<FileInfo> new_files_;  ///< without a block
  std::uint32_t source_count_ = 0;
  std::atomic<std::uint32_t> file_count_{0};
  std::thread thread_;
};

}  // namespace forebay::trace
