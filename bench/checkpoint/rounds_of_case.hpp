// SPDX-License-Identifier: Apache-2.0
// Runs all candidates of one case in paired rounds of alternating order, like
// bench/frame/rounds.hpp. Unlike there, each run has several numbers, and failing candidates are
// left out.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "bench/checkpoint/fio_jobs.hpp"
#include "bench/checkpoint/samples.hpp"
#include "bench/checkpoint/trial_harness.hpp"

namespace forebay::bench::checkpoint {

struct RoundsSettings {
  std::filesystem::path directory;  ///< for all files; exists
  std::uint64_t step_bytes = 0;     ///< of the case
  unsigned rounds = 5;              ///< after a discarded one
  double computing_s = 0.2;         ///< of each phase between steps, if there is a computation
  FioTunings fio = {};              ///< used where a case has fio
  /// Families and names that take part; empty: all.
  std::set<std::string, std::less<>> names = {};
  /// Called after each run, with the number done and the total.
  std::function<void(std::size_t done, std::size_t total)> on_progress;
};

/// Space to require, in checkpoints of all steps: a run's files, fio's, and a second copy for
/// aggregation.
inline constexpr std::uint64_t kCopiesMin = 3;

/// How many copies are in the directory at a time: of a restart one for each candidate.
std::size_t concurrent_copies(const Case& bench_case, const RoundsSettings& settings);

/// Adds to `samples`. A restart has its steps written once, before all rounds, and reads another
/// step in each round. So it needs no fewer steps than rounds: a step that was read before may be
/// in a cache that cannot be dropped. Returns the failed names with the reasons: these have no
/// samples, and the others have all.
std::map<std::string, std::string> run_case(const Case& bench_case,
                                            const RoundsSettings& settings,
                                            Samples& samples);

}  // namespace forebay::bench::checkpoint
