// SPDX-License-Identifier: Apache-2.0
// Shared by check and analyze: opens a file through a source, identifies it, scans it by many
// tasks, and measures times.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tipsy/memory_monitor.hpp"
#include "tipsy/particle_scan.hpp"
#include "tipsy/report.hpp"
#include "tipsy/snapshot.hpp"
#include "tipsy/snapshot_source.hpp"

namespace forebay::tipsy {

/// Whether the file is dropped from the page cache first.
enum class PageCacheMode : std::uint8_t { kKeep, kDrop };

struct RunOptions {
  std::string path;
  std::optional<Precision> named_precision;  ///< the precision that the user named
  CountSource count_source = CountSource::kHeader;
  SourceOptions source;
  std::uint64_t tasks = 4096;
  unsigned threads = 1;
  PageCacheMode cache = PageCacheMode::kKeep;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Seconds since its construction.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;
  double elapsed_s() const { return since_start_s(Clock::now()); }
  double since_start_s(Clock::time_point then) const {
    return std::chrono::duration<double>(then - start_).count();
  }

 private:
  Clock::time_point start_ = Clock::now();
};

/// Times of a run; README.md defines each.
struct RunTimes {
  double open_s = 0;
  double sample_s = 0;
  double first_particle_s = 0;
  double waiting_s = 0;
  double computing_cpu_s = 0;
  double total_s = 0;
};
Json to_json(const RunTimes& times);

/// An open file. Created by open(); one thread uses the members.
class SnapshotRun {
 public:
  /// Opens the file and reads its header. Fails as open_source() and identify_snapshot() do.
  static Result<std::unique_ptr<SnapshotRun>> open(const RunOptions& options);

  const Snapshot& snapshot() const { return *snapshot_; }
  SnapshotSource& source() { return *source_; }
  const Stopwatch& stopwatch() const { return stopwatch_; }

  /// Scans all particles. Call it once.
  template <BatchAccumulator Accumulator>
  Result<Accumulator> scan(const Accumulator& empty);

  /// The members "source", "tasks", "times_s" and so on of the document. Call it once, after
  /// scan().
  Json describe();

  RunTimes times;  ///< open_s is set by open(), first_particle_s and later ones by scan()

 private:
  explicit SnapshotRun(const RunOptions& options) : options_(options) {}
  Status read_header();
  void record_times(const CpuTimer& meter, double start_s);

  RunOptions options_;
  Stopwatch stopwatch_;
  MemoryMonitor memory_;
  std::unique_ptr<SnapshotSource> source_;
  std::optional<Snapshot> snapshot_;
};

template <BatchAccumulator Accumulator>
Result<Accumulator> SnapshotRun::scan(const Accumulator& empty) {
  const Result<Layout> layout = snapshot_->layout();
  if (!layout) return failure(layout.error());
  const double start_s = stopwatch_.elapsed_s();
  if (const Status begun = source_->begin_session({0, layout->end_offset()}); !begun) {
    return failure(begun.error());
  }
  command::Progress progress(options_.progress,
                             {"reading " + options_.path, "particles", layout->counts.total()});
  ParticleScan<Accumulator> scan({*layout, options_.tasks, options_.threads, snapshot_->has_ids()},
                                 *source_, empty);
  Result<Accumulator> result = scan.run(progress);
  record_times(scan.meter(), start_s);
  return result;
}

/// Writes dirty pages of the file, then drops its pages from the page cache. Fails with kNotFound
/// and other classes of system errors.
Status drop_from_cache(const std::string& path);

}  // namespace forebay::tipsy
