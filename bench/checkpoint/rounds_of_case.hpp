// SPDX-License-Identifier: Apache-2.0
// All contenders in one case: paired rounds in changing order, as bench/frame/rounds.hpp has them,
// but with several numbers for each run, and without those that fail.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "bench/checkpoint/everybody.hpp"
#include "bench/checkpoint/fio_jobs.hpp"
#include "bench/checkpoint/samples.hpp"

namespace forebay::bench::checkpoint {

struct RoundsSettings {
  std::filesystem::path folder;  ///< for all files; exists
  std::uint64_t step_bytes = 0;  ///< of the case
  unsigned rounds = 5;           ///< after one whose values are thrown away
  double computing_s = 0.2;      ///< of each phase between steps, where something computes
  FioChoice fio = {};            ///< of use where a case has fio
  /// Families and names that take part; empty: all.
  std::set<std::string, std::less<>> names = {};
  /// Called after each run, with how many are done of how many.
  std::function<void(std::size_t done, std::size_t total)> on_progress;
};

/// Checkpoints of all steps that there is room for: a run's files, fio's, and what aggregation may
/// keep twice.
inline constexpr std::uint64_t kCopiesMin = 3;

/// How many lie in the folder at a time: of a restart one for each that takes part.
std::size_t copies_at_a_time(const Case& in, const RoundsSettings& settings);

/// Adds to `samples`. A restart has its steps written before all rounds, once, and reads another
/// of them in each, so that it has at least as many steps as there are rounds: what was read
/// before may still be in a cache that nobody can empty.
/// Returns who failed, and why: it has no samples, and the others have all.
std::map<std::string, std::string> run_case(const Case& in,
                                            const RoundsSettings& settings,
                                            Samples& samples);

}  // namespace forebay::bench::checkpoint
