// SPDX-License-Identifier: Apache-2.0
// SessionPrefetcher: observes the reads of a session with Mode::kOnDemand, and pushes the splinters
// of predicted reads into its window. It is the File Access Server of The Server-Push I/O
// Architecture for High-End Computing (Sun, Gropp, Thakur): its tracer, predictor and data
// propeller; the session's window is its prefetch cache.
#pragma once

#include <forebay/log.hpp>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "push/access_stream.hpp"
#include "push/learned_hints.hpp"
#include "push/named_functions.hpp"
#include "push/pre_execution.hpp"
#include "read/session_core.hpp"
#include "trace/trace_recorder.hpp"

namespace forebay::push {

struct PrefetcherOptions {
  /// Hints that apply to every stream, of checked signatures. Of several, a stream takes those that
  /// begin with its first access, and parametric ones only if they can.
  struct Stored {
    HintOrigin origin;
    std::shared_ptr<const trace::Signature> signature;
    std::shared_ptr<const ParametricSignature> parametric = nullptr;  ///< instead of `signature`
  };
  std::vector<Stored> stored = {};
  /// Records all requests, also those of sessions that declare what they read; may be null.
  std::shared_ptr<trace::TraceRecorder> recorder = nullptr;
  /// Keeps the reads of each thread until the session ends; may be null.
  std::shared_ptr<LearnedHints> learned = nullptr;
  std::shared_ptr<NamedFunctions> functions = nullptr;  ///< of the program; null: none
  LogSink* log = nullptr;                               ///< faults of pre-execution; may be null
  std::uint16_t recorded_file = trace::kFileUnknown;    ///< number of the file there
  const Clock& clock = SteadyClock::shared();
};

/// In a session without Mode::kOnDemand, or without readahead, it only counts and records. The
/// thread that makes a request predicts and queues loads. `forebay bench
/// foresight` measures the cost of a request (learn_us, locked_us).
class SessionPrefetcher final : public read::AccessObserver {
 public:
  /// Streams of a session: the requests of one thread. A further one replaces the stream that was
  /// used least recently.
  static constexpr std::size_t kStreamsMax = 64;
  static constexpr std::size_t kFirstReadsMax = 256;

  /// `core` owns this object.
  SessionPrefetcher(read::SessionCore& core, PrefetcherOptions options);

  void observe(const ByteRange& range, read::AccessOutcome outcome) noexcept override;
  Status hint(std::string_view signature) override;
  Status hint(std::span<const ByteRange> reads) override;
  Status preexecute(NextRead next_read) override;
  Status preexecute(std::string_view name, std::span<const std::byte> argument) override;
  std::vector<ByteRange> first_reads() const override;
  void add_counts(PrefetchReport& report) const override;
  void stop() noexcept override;

 private:
  struct Stream {
    std::thread::id thread;  ///< none: that of the first access, which hints precede
    std::uint64_t last_end = 0;
    RecentOutcomes near;  ///< whether accesses were near the one before
    AccessStream accesses;
    std::vector<trace::Access> reads;  ///< for LearnedHints, at most one more than it keeps
  };

  void push_range(ByteRange range);
  Status add_hint(std::shared_ptr<const trace::Signature> signature);
  Stream& stream_of_this_thread(const ByteRange& access);
  void add_stream();
  void add_stored_hints(AccessStream& stream, const ByteRange& first);
  enum class Expectation { kNone, kPushed };
  void count(read::AccessOutcome outcome, Expectation expectation) noexcept;
  bool is_near(std::uint64_t offset, std::uint64_t end_before) const noexcept;
  void record_distance(Stream& stream, const ByteRange& range) noexcept;
  read::LoadGranularity granularity_of(const Stream& stream,
                                       std::span<const Prediction> next) const noexcept;
  void cancel(AheadQueue& ahead);
  read::SplinterIndex last_splinter(const ByteRange& range, std::uint64_t count_max) const noexcept;
  void push_ahead(Stream& stream);
  std::uint32_t add_loads(const ByteRange& range,
                          std::uint64_t use,
                          read::LoadGranularity granularity);

  read::SessionCore& core_;
  const PrefetcherOptions options_;
  const std::uint64_t loads_max_;

  mutable std::mutex mutex_;  ///< guards all members below
  bool is_stopped_ = false;
  std::uint64_t position_ = 0;  ///< accesses of the session
  PrefetchReport counts_;
  std::vector<ByteRange> first_reads_;
  std::vector<std::unique_ptr<Stream>> streams_;  ///< [0]: used last
  std::vector<Prediction> buffer_;
  std::vector<read::SplinterRequest> loads_;
  std::vector<read::SplinterIndex> cancelled_;
  std::uint64_t pre_executed_use_ = 0;  ///< of the last range that the function has yielded
  detail::OriginPointer<PreExecution> pre_execution_;
  read::RemotePreExecution* remote_ = nullptr;  ///< set while the agent runs a function
};

}  // namespace forebay::push
