// SPDX-License-Identifier: Apache-2.0
// What writing behind a computation brings where times vary from buffer to buffer. There is no
// formula for that: runs are played with times drawn from a seed, so that the same question has the
// same answer.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include "model/gain.hpp"
#include "model/played_pipeline.hpp"

namespace forebay::model {

/// The largest jitter that is drawn: above it, few draws say nothing about the mean.
inline constexpr double kJitterMax = 3;
/// The most buffers whose writing is played.
inline constexpr std::uint64_t kPlayedCountMax = 100'000;

/// How times vary: standard deviation / mean of a log-normal distribution, each buffer by itself.
struct Jitter {
  double compute = 0;  ///< 0 to kJitterMax
  double write = 0;    ///< 0 to kJitterMax
  std::uint64_t seed = 1;

  friend bool operator==(const Jitter&, const Jitter&) = default;
};

/// One number of many runs.
struct Spread {
  double mean = 0;
  double low = 0;   ///< one run of twenty is at most this
  double high = 0;  ///< one run of twenty is at least this

  friend bool operator==(const Spread&, const Spread&) = default;
};

/// The numbers of Overlap, over runs.
struct OverlapSpread {
  Spread synchronous_s;
  Spread total_s;
  Spread computing_s;
  Spread waiting_s;
  Spread draining_s;
  Spread gain;
};

/// The spread of runs that are all the same.
OverlapSpread without_spread(const Overlap& run);

/// Draws for some runs of `count` buffers, relative to the mean. All questions are played with the
/// same draws, so that answers differ by what was asked for. Draws repeat with the seed, on each
/// machine with the same C++ library. At most 64 MiB.
class JitteredRuns {
 public:
  /// 20 to 200 runs, fewer the longer they are. kInvalidArgument: the jitter is negative, no number
  /// or above kJitterMax; kLimit: `count` is 0 or above kPlayedCountMax.
  static Result<JitteredRuns> draw(std::uint64_t count, const Jitter& jitter);

  std::uint64_t runs() const { return factors_.size(); }

  /// The runs of `pipeline`, whose count must be that of the draws. Takes tens of nanoseconds for
  /// each buffer of each run.
  Result<OverlapSpread> play(const Pipeline& pipeline) const;

  /// As model::advise(), by the mean of all runs.
  Result<PipelineAdvice> advise(const Pipeline& pipeline) const;

 private:
  using Run = std::vector<BufferTimes>;

  explicit JitteredRuns(std::vector<Run> factors) : factors_(std::move(factors)) {}

  Status check(const Pipeline& pipeline) const;
  std::vector<Overlap> play_all(const Pipeline& pipeline) const;
  double mean_total_s(const Pipeline& pipeline) const;

  std::vector<Run> factors_;  ///< of C and W, with mean 1
};

}  // namespace forebay::model
