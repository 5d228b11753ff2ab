// SPDX-License-Identifier: Apache-2.0
// The gain from writing behind a computation, as formulas: the best possible time with overlap, the
// useful numbers of buffers and devices, and the efficiency of a run. docs/guides/gain.md defines
// them, and tests compare them with pipeline_simulation.hpp.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <cstdint>
#include <limits>

namespace forebay::model {

/// As many buffers as are written: no computation ever waits for one.
inline constexpr std::uint64_t kUnlimitedBuffers = std::numeric_limits<std::uint64_t>::max();

/// A plan counts as best if it takes at most this many times as long as the best.
inline constexpr double kNearBestFactor = 1.01;

/// The largest values that the formulas accept.
inline constexpr std::uint64_t kPipelineCountMax = 1ULL << 40U;
inline constexpr double kPipelineSecondsMax = 1e9;

/// A program that computes a buffer, passes it on to be written, and computes the next.
struct Pipeline {
  double compute_s = 0;       ///< C: to fill one buffer while nothing is written; at least 0
  double write_s = 0;         ///< W: to write one buffer while nothing is computed; at least 0
  std::uint64_t count = 1;    ///< n: buffers written; at least 1
  std::uint64_t buffers = 2;  ///< b: buffers in memory; at least 1, which gives no overlap
  std::uint64_t devices = 1;  ///< N: concurrent writes that do not slow each other; at least 1

  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};

/// Composition of the time of a run.
struct Overlap {
  double synchronous_s = 0;  ///< time without overlap
  double total_s = 0;        ///< from the first computation to the end of the last write
  double computing_s = 0;
  double waiting_s = 0;   ///< of the computation, for a free buffer
  double draining_s = 0;  ///< after the last computation

  double gain() const { return synchronous_s / total_s; }
};

/// Success, or kInvalidArgument with the cause: a time that is negative, not a number, or above
/// kPipelineSecondsMax; both times 0; a count of 0 or above kPipelineCountMax. The functions below
/// fail with the same Error.
Status check(const Pipeline& pipeline);

/// The run of a pipeline with constant times. Exact; takes nanoseconds.
FOREBAY_EXPORT Result<Overlap> overlap(const Pipeline& pipeline);

/// The limit of the gain as count and buffers grow, which is never exceeded: (C + W) / max(C, W /
/// N).
FOREBAY_EXPORT Result<double> gain_bound(const Pipeline& pipeline);

/// Efficiency of a run that took `measured_s`, relative to overlap(): 1 is the best possible, and a
/// run without overlap has 1 / gain. It may be above 1, because C and W are means. `measured_s`
/// must be above 0.
Result<double> efficiency(double measured_s, const Pipeline& pipeline);

/// Sufficient numbers of buffers and devices.
struct PipelineAdvice {
  /// With the pipeline's devices, the fewest that are as good as any number of buffers.
  std::uint64_t buffers = 1;
  /// The fewest that are as good as any number of devices, with a buffer for each write.
  std::uint64_t devices = 1;
  /// With these devices, the fewest that are as good as any number of buffers.
  std::uint64_t devices_buffers = 1;

  friend bool operator==(const PipelineAdvice&, const PipelineAdvice&) = default;
};

/// The advice for constant times. The pipeline's own number of buffers is ignored. Takes less than
/// a microsecond.
FOREBAY_EXPORT Result<PipelineAdvice> advise(const Pipeline& pipeline);

}  // namespace forebay::model
