// SPDX-License-Identifier: Apache-2.0
// Compares ways to replay reads in paired rounds, on files of an emulated storage.
#pragma once

#include <map>
#include <memory>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/foresight/replay.hpp"

namespace forebay::bench::foresight {

/// Replays one after the other; their times are added.
struct Case {
  std::string name;
  std::vector<Replay> replays;
};

/// Whether other ways are shown beside the two that are compared.
enum class Peers : std::uint8_t { kNone, kAll };

/// One row: the worst case decides.
struct Comparison {
  const char* id;
  const char* over;   ///< the value is the time of this way / that of `under`
  const char* under;  ///< see Replayer::variant()
  Goal goal;
  Peers peers = Peers::kNone;  ///< kAll: the other ways are measured once, except in quick runs
};

/// A mounted machine, and the ways to read from it.
class Replayer {
 public:
  static Result<std::unique_ptr<Replayer>> make(Context& context, const std::string& machine);

  const emufs::EmufsMount& mounted() const noexcept { return *mounted_; }
  /// Measures the row. Counters of sessions become parameters.
  Result<ResultRow> compare(const Comparison& comparison, const std::vector<Case>& cases);
  /// Of each case, by its name: wasted bytes / bytes that the program read, in the rounds of the
  /// newest comparison.
  const std::map<std::string, std::vector<double>>& wasted() const noexcept { return wasted_; }

 private:
  Replayer(Context& context, std::unique_ptr<emufs::EmufsMount> mounted)
      : context_(context), mounted_(std::move(mounted)) {}
  /// All files are cold before. `way`: "forebay", "today", "SEQUENTIAL", "RANDOM", "WILLNEED",
  /// "ideal".
  Variant variant(const std::string& way, const Case& one);
  Result<double> time_sessions(const Case& one);
  Status add_peers(const Comparison& comparison,
                   const Case& one,
                   const Rounds& rounds,
                   ResultRow& row);

  Context& context_;
  std::unique_ptr<emufs::EmufsMount> mounted_;
  Runtime runtime_;
  std::map<std::string, std::vector<double>> wasted_;
};

/// The largest streams of recorded programs, on sparse files.
Result<std::vector<Case>> cases_of_logs(Context& context, const Replayer& replayer);
/// Why they are missing; empty if they are not.
std::string logs_unavailable_reason();

/// The rows that read from storage.
Status bench_storage(Context& context);

}  // namespace forebay::bench::foresight
