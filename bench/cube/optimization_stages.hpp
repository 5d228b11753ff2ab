// SPDX-License-Identifier: Apache-2.0
// Runs the optimization stages: each converts the same profile in a separate process, and reports
// its times and written bytes.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cube/original.hpp"

namespace forebay::bench::cube {

/// One stage: a scheme of the original, or the remap of Forebay.
struct OptimizationStage {
  std::string name;
  std::optional<Scheme> scheme;
  unsigned threads = 0;  ///< of Forebay; 0: chosen by the program
};

inline constexpr const char* kOriginal = "original";
inline constexpr const char* kOnePass = "+ one pass";
inline constexpr const char* kAllCores = "+ all cores";

/// All stages, from the original to Forebay; each includes the previous ones.
std::vector<OptimizationStage> optimization_stages();

/// Paths of a conversion.
struct RemapPaths {
  std::string input;
  std::string specification;
  std::string output;
};

/// One run. Times are in seconds; compute_s is per thread if there are several.
struct StageRun {
  double total_s = 0;
  double compute_s = 0;
  double write_s = 0;
  std::optional<double> efficiency;  ///< model time / time of the whole run, for Forebay
  std::optional<std::uint64_t> written_bytes;
  std::uint64_t memory_bytes = 0;
};

/// Blocks until the output is on stable storage.
Result<StageRun> run_stage(const OptimizationStage& stage, const RemapPaths& task);

}  // namespace forebay::bench::cube
