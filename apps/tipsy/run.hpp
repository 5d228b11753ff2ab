// SPDX-License-Identifier: Apache-2.0
// What check and analyse have in common: a file opened through a source, recognised, surveyed by
// many tasks, and timed.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tipsy/memory.hpp"
#include "tipsy/report.hpp"
#include "tipsy/snapshot.hpp"
#include "tipsy/source.hpp"
#include "tipsy/survey.hpp"

namespace forebay::tipsy {

/// Whether the file is dropped from the page cache first.
enum class Cache : std::uint8_t { kAsItIs, kCold };

struct RunOptions {
  std::string path;
  std::optional<Precision> word;  ///< the precision the user named
  CountsFrom counts_from = CountsFrom::kHeader;
  SourceOptions source;
  std::uint64_t tasks = 4096;
  unsigned threads = 1;
  Cache cache = Cache::kAsItIs;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Seconds since a Stopwatch was made.
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

/// Where the time of a run went; README.md says what each means.
struct RunTimes {
  double open_s = 0;
  double sample_s = 0;
  double first_particle_s = 0;
  double waiting_s = 0;
  double computing_cpu_s = 0;
  double total_s = 0;
};
Json to_json(const RunTimes& times);

/// A file being worked on. Made by open(); members are used from one thread.
class Run {
 public:
  /// Opens the file and reads its header. Fails as opening and recognise() do.
  static Result<std::unique_ptr<Run>> open(const RunOptions& options);

  const Snapshot& snapshot() const { return *snapshot_; }
  ByteSource& source() { return *source_; }
  const Stopwatch& watch() const { return watch_; }

  /// Surveys all particles. Call it once.
  template <SurveyPart Part>
  Result<Part> survey(const Part& empty);

  /// All that is printed about the run itself, after the survey: "source", "tasks", "times_s", ...
  Json describe();

  RunTimes times;  ///< open_s is set by open(), first_particle_s and later ones by survey()

 private:
  explicit Run(const RunOptions& options) : options_(options) {}
  Status read_header();
  void account(const ComputeMeter& meter, double start_s);

  RunOptions options_;
  Stopwatch watch_;
  MemoryWatch memory_;
  std::unique_ptr<ByteSource> source_;
  std::optional<Snapshot> snapshot_;
};

template <SurveyPart Part>
Result<Part> Run::survey(const Part& empty) {
  const Result<Layout> layout = snapshot_->layout();
  if (!layout) return failure(layout.error());
  const double start_s = watch_.elapsed_s();
  if (const Status begun = source_->begin({0, layout->end_bytes()}); !begun) {
    return failure(begun.error());
  }
  command::Progress progress(options_.progress,
                             {"reading " + options_.path, "particles", layout->counts.total()});
  Survey<Part> survey({*layout, options_.tasks, options_.threads, snapshot_->has_ids()}, *source_,
                      empty);
  Result<Part> result = survey.run(progress);
  account(survey.meter(), start_s);
  return result;
}

/// Drops the file's pages from the page cache, after writing dirty ones. Fails with kNotFound, ...
Status drop_from_cache(const std::string& path);

}  // namespace forebay::tipsy
