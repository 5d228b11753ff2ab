// SPDX-License-Identifier: Apache-2.0
// JitterSimulation: the gain from writing behind a computation if times vary from buffer to buffer.
// No formula exists for it. Runs are simulated with times drawn from a seed, so results can be
// repeated.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include "model/gain.hpp"
#include "model/pipeline_simulation.hpp"

namespace forebay::model {

/// Largest jitter: above it, a few draws do not determine the mean.
inline constexpr double kJitterMax = 3;
/// Largest number of buffers in a simulated run.
inline constexpr std::uint64_t kSimulatedCountMax = 100'000;

/// Variation of times: standard deviation / mean of a log-normal distribution, independent for each
/// buffer.
struct Jitter {
  double compute = 0;  ///< 0 to kJitterMax
  double write = 0;    ///< 0 to kJitterMax
  std::uint64_t seed = 1;

  friend bool operator==(const Jitter&, const Jitter&) = default;
};

/// Distribution of one value over many runs.
struct Spread {
  double mean = 0;
  double low = 0;   ///< one run of twenty is at most this
  double high = 0;  ///< one run of twenty is at least this

  friend bool operator==(const Spread&, const Spread&) = default;
};

/// The values of Overlap, over runs.
struct OverlapSpread {
  Spread synchronous_s;
  Spread total_s;
  Spread computing_s;
  Spread waiting_s;
  Spread draining_s;
  Spread gain;
};

/// The spread of runs that are all the same.
OverlapSpread zero_spread(const Overlap& run);

/// Draws for several runs of `count` buffers, relative to the mean. All calls use the same draws,
/// so results differ only by their arguments. The same seed gives the same draws on all machines
/// with the same C++ library. At most 64 MiB.
class JitterSimulation {
 public:
  /// 20 to 200 runs, fewer for longer ones. kInvalidArgument: the jitter is negative, not a number,
  /// or above kJitterMax. kLimit: `count` is 0 or above kSimulatedCountMax.
  static Result<JitterSimulation> create(std::uint64_t count, const Jitter& jitter);

  std::uint64_t run_count() const { return factors_.size(); }

  /// Simulates `pipeline`, whose count must be that of the draws. Takes tens of nanoseconds for
  /// each buffer of each run.
  Result<OverlapSpread> simulate(const Pipeline& pipeline) const;

  /// As model::advise(), by the mean of all runs.
  Result<PipelineAdvice> advise(const Pipeline& pipeline) const;

 private:
  using Run = std::vector<BufferTimes>;

  explicit JitterSimulation(std::vector<Run> factors) : factors_(std::move(factors)) {}

  Status check(const Pipeline& pipeline) const;
  std::vector<Overlap> simulate_all(const Pipeline& pipeline) const;
  double mean_total_s(const Pipeline& pipeline) const;

  std::vector<Run> factors_;  ///< factors of C and W, with mean 1
};

}  // namespace forebay::model
