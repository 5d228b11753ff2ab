// SPDX-License-Identifier: Apache-2.0
// The closed form. A run is a longest path through computations and writes. Each step continues by
// a computation, by the preceding write on the same device, or by the write that released the
// buffer. With constant times the longest path repeats one kind of detour as often as possible.
#include "model/gain.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "model/pipeline_advice.hpp"

namespace forebay::model {

namespace {

tl::unexpected<Error> invalid_pipeline(std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "model the gain of overlap",
                  .cause = std::move(cause)});
}

Status check_seconds(double seconds, std::string_view name) {
  if (seconds >= 0 && seconds <= kPipelineSecondsMax) return {};
  return invalid_pipeline(std::string(name) + " is " + std::to_string(seconds) +
                          " seconds; give 0 to 1000000000");
}

Status check_number(std::uint64_t number, std::string_view name) {
  if (number >= 1) return {};
  return invalid_pipeline(std::string(name) + " are 0; give at least 1");
}

/// Time that one detour adds to a path of computations; it spans `buffers` of them.
struct Stall {
  std::uint64_t buffers = 1;
  double extra_s = 0;  ///< 0 if the computations take longer
};

/// A write that begins when the preceding one on the device ends.
Stall device_stall(const Pipeline& p) {
  const auto devices = static_cast<double>(p.devices);
  return {p.devices, std::max(0.0, p.write_s - devices * p.compute_s)};
}

/// A computation that begins when the preceding write in the buffer ends.
Stall buffer_stall(const Pipeline& p) {
  const auto others = static_cast<double>(p.buffers - 1);
  return {p.buffers, std::max(0.0, p.write_s - others * p.compute_s)};
}

double total_stall_s(const Stall& stall, std::uint64_t within) {
  const std::uint64_t times = within / stall.buffers;
  return static_cast<double>(times) * stall.extra_s;
}

/// Time for which the computation waits for buffers. With more buffers than devices, a wait depends
/// on all preceding writes on that device.
double waiting_s(const Pipeline& p) {
  const std::uint64_t followers = p.count - 1;
  if (p.buffers <= p.devices) return total_stall_s(buffer_stall(p), followers);
  if (followers < p.buffers) return 0;
  const double behind_s = total_stall_s(device_stall(p), followers - p.buffers);
  const auto others = static_cast<double>(p.buffers - 1);
  return std::max(0.0, p.write_s - others * p.compute_s + behind_s);
}

/// The formulas, for a checked pipeline.
Overlap checked_overlap(const Pipeline& p) {
  const auto count = static_cast<double>(p.count);
  const Stall longest = p.buffers > p.devices ? device_stall(p) : buffer_stall(p);
  Overlap run{.synchronous_s = count * (p.compute_s + p.write_s),
              .computing_s = count * p.compute_s,
              .waiting_s = waiting_s(p)};
  run.total_s = run.computing_s + p.write_s + total_stall_s(longest, p.count - 1);
  run.draining_s = std::max(0.0, run.total_s - run.computing_s - run.waiting_s);
  return run;
}

}  // namespace

Status check(const Pipeline& pipeline) {
  if (auto good = check_seconds(pipeline.compute_s, "computing a buffer"); !good) return good;
  if (auto good = check_seconds(pipeline.write_s, "writing a buffer"); !good) return good;
  if (pipeline.compute_s + pipeline.write_s <= 0) {
    return invalid_pipeline("neither computing nor writing takes time; give at least one of them");
  }
  if (auto good = check_number(pipeline.count, "written buffers"); !good) return good;
  if (auto good = check_number(pipeline.buffers, "buffers in memory"); !good) return good;
  if (auto good = check_number(pipeline.devices, "devices"); !good) return good;
  if (pipeline.count <= kPipelineCountMax) return {};
  return invalid_pipeline("written buffers are " + std::to_string(pipeline.count) +
                          "; give at most " + std::to_string(kPipelineCountMax));
}

Result<Overlap> overlap(const Pipeline& pipeline) {
  if (auto good = check(pipeline); !good) return failure(good.error());
  return checked_overlap(pipeline);
}

Result<double> gain_bound(const Pipeline& pipeline) {
  if (auto good = check(pipeline); !good) return failure(good.error());
  const double each_s =
      std::max(pipeline.compute_s, pipeline.write_s / static_cast<double>(pipeline.devices));
  return (pipeline.compute_s + pipeline.write_s) / each_s;
}

Result<double> efficiency(double measured_s, const Pipeline& pipeline) {
  if (auto good = check(pipeline); !good) return failure(good.error());
  if (!(measured_s > 0) || !std::isfinite(measured_s)) {
    return invalid_pipeline("the run took " + std::to_string(measured_s) +
                            " seconds; give more than 0");
  }
  return checked_overlap(pipeline).total_s / measured_s;
}

Result<PipelineAdvice> advise(const Pipeline& pipeline) {
  if (auto good = check(pipeline); !good) return failure(good.error());
  return advise_with(pipeline, [](const Pipeline& one) { return checked_overlap(one).total_s; });
}

}  // namespace forebay::model
