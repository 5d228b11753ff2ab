// SPDX-License-Identifier: Apache-2.0
// What writing behind a computation brings, as formulas: the time that overlap can give at best,
// how many buffers and devices are worth having, and how close a run came. They are those of
// docs/guides/gain.md; tests hold them to the schedule that played_pipeline.hpp plays.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <limits>

namespace forebay::model {

/// As many buffers as are written: no computation ever waits for one.
inline constexpr std::uint64_t kUnlimitedBuffers = std::numeric_limits<std::uint64_t>::max();

/// A plan is as good as the best if it takes at most so many times as long.
inline constexpr double kAsGoodAsTheBest = 1.01;

/// The largest numbers that the formulas are asked for.
inline constexpr std::uint64_t kPipelineCountMax = 1ULL << 40U;
inline constexpr double kPipelineSecondsMax = 1e9;

/// A program that computes a buffer, hands it over to be written, and computes the next.
struct Pipeline {
  double compute_s = 0;       ///< C: to fill one buffer, nothing being written; at least 0
  double write_s = 0;         ///< W: until one is written, nothing being computed; at least 0
  std::uint64_t count = 1;    ///< n: buffers written; at least 1
  std::uint64_t buffers = 2;  ///< b: there is memory for; at least 1, which is no overlap
  std::uint64_t devices = 1;  ///< N: writes at a time that do not slow each other; at least 1

  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};

/// Where the time of a run goes.
struct Overlap {
  double synchronous_s = 0;  ///< what the same takes without overlap
  double total_s = 0;        ///< from the first computation to the end of the last write
  double computing_s = 0;
  double waiting_s = 0;   ///< of the computation, for a free buffer
  double draining_s = 0;  ///< after the last computation

  double gain() const { return synchronous_s / total_s; }
};

/// Nothing, or kInvalidArgument with what is wrong: a time that is negative, no number, above
/// kPipelineSecondsMax, or 0 for both; a count of 0 or above kPipelineCountMax. The functions below
/// fail with it.
Status check(const Pipeline& pipeline);

/// The run of a pipeline whose times are always the same. Exact; takes nanoseconds.
Result<Overlap> overlap(const Pipeline& pipeline);

/// The gain that a pipeline comes near to as count and buffers grow, and never exceeds:
/// (C + W) / max(C, W / N).
Result<double> gain_bound(const Pipeline& pipeline);

/// How close a run that took `measured_s` came to overlap(): 1 is all that there is, a run without
/// overlap has 1 / gain. It may be above 1, as C and W are means of something. `measured_s` must
/// be above 0.
Result<double> efficiency(double measured_s, const Pipeline& pipeline);

/// How much is enough.
struct PipelineAdvice {
  /// With the pipeline's devices, the fewest that are as good as any number of buffers.
  std::uint64_t buffers = 1;
  /// The fewest that are as good as any number of devices, with a buffer for everything.
  std::uint64_t devices = 1;
  /// With these devices, the fewest that are as good as any number of buffers.
  std::uint64_t devices_buffers = 1;

  friend bool operator==(const PipelineAdvice&, const PipelineAdvice&) = default;
};

/// The advice for times that are always the same; the pipeline's own buffers do not count. Takes
/// less than a microsecond.
Result<PipelineAdvice> advise(const Pipeline& pipeline);

}  // namespace forebay::model
