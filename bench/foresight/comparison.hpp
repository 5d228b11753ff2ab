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
struct ReplayRow {
  const char* id;
  const char* over;   ///< the value is the time of this way / that of `under`
  const char* under;  ///< see Replayer::variant()
  Goal goal;
  Peers peers = Peers::kNone;  ///< kAll: the other ways are measured once, except in quick runs
};

/// A mounted machine, and the ways to read from it. All throw Errors.
class Replayer {
 public:
  Replayer(Context& context, const std::string& machine)
      : context_(context),
        mounted_(emufs::EmufsMount::make(context.directory(), {.machine = machine, .arguments = {}})
                     .value()) {}

  const emufs::EmufsMount& mounted() const noexcept { return *mounted_; }
  /// Measures the row. Counters of sessions become parameters.
  ResultRow compare(const ReplayRow& row, const std::vector<Case>& cases);
  /// Of each case, by its name: wasted bytes / bytes that the program read, in the rounds of the
  /// newest comparison.
  const std::map<std::string, std::vector<double>>& wasted() const noexcept { return wasted_; }

 private:
  /// All files are cold before. `way`: "forebay", "today", "SEQUENTIAL", "RANDOM", "WILLNEED",
  /// "ideal".
  Variant variant(const std::string& way, const Case& one);
  double time_sessions(const Case& one);
  void add_peers(const ReplayRow& row, const Case& one, const Rounds& rounds, ResultRow& result);

  Context& context_;
  std::unique_ptr<emufs::EmufsMount> mounted_;
  Runtime runtime_;
  std::map<std::string, std::vector<double>> wasted_;
};

/// The largest streams of recorded programs, on sparse files. Throws an Error.
std::vector<Case> cases_of_logs(Context& context, const Replayer& replayer);
/// Why they are missing; empty if they are not.
std::string logs_unavailable_reason();

}  // namespace forebay::bench::foresight
