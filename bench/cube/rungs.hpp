// SPDX-License-Identifier: Apache-2.0
// The rungs of the ladder as things to run: each converts the same profile, in a process of its
// own, and says how long it took and what it wrote.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cube/original.hpp"

namespace forebay::bench::cube {

/// One rung. Either a scheme of the original's, or Forebay's remap.
struct Rung {
  std::string name;
  std::optional<Scheme> scheme;
  unsigned threads = 0;  ///< of Forebay; 0: as many as it chooses
};

inline constexpr const char* kOriginal = "original";
inline constexpr const char* kOnePass = "+ one pass";
inline constexpr const char* kAllCores = "+ all cores";

/// From the original to Forebay, each with what the ones before it have.
std::vector<Rung> all_rungs();

/// What is converted to what; paths.
struct Task {
  std::string input;
  std::string specification;
  std::string output;
};

/// One run. Seconds; compute_s is that of one thread where there are several.
struct RungRun {
  double total_s = 0;
  double compute_s = 0;
  double write_s = 0;
  std::optional<double> efficiency;  ///< T_model / T of the whole run, of Forebay
  std::optional<std::uint64_t> written_bytes;
  std::uint64_t memory_bytes = 0;
};

/// The output is on stable storage when this returns.
Result<RungRun> run_rung(const Rung& rung, const Task& task);

}  // namespace forebay::bench::cube
