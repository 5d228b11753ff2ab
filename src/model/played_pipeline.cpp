// SPDX-License-Identifier: Apache-2.0
#include "model/played_pipeline.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

/// Places that are taken until a moment each: buffers, or devices.
class Places {
 public:
  explicit Places(std::uint64_t places) : places_(places) { FOREBAY_ASSERT(places >= 1); }

  /// Takes the place that is free first, and says since when or from when on it is.
  double take() {
    if (until_.size() < places_) return 0;
    const double free_at_s = until_.top();
    until_.pop();
    return free_at_s;
  }
  void hold_until(double moment_s) { until_.push(moment_s); }

 private:
  std::uint64_t places_;
  std::priority_queue<double, std::vector<double>, std::greater<>> until_;
};

}  // namespace

Overlap play(std::span<const BufferTimes> times, PipelineResources resources) {
  Places buffers(resources.buffers);
  Places devices(resources.devices);
  Overlap run;
  double computed_s = 0;  // the moment; what follows with _s counts from the beginning, too
  for (const BufferTimes& one : times) {
    const double begin_s = std::max(computed_s, buffers.take());
    run.waiting_s += begin_s - computed_s;
    run.computing_s += one.compute_s;
    run.synchronous_s += one.compute_s + one.write_s;
    computed_s = begin_s + one.compute_s;
    const double written_s = std::max(computed_s, devices.take()) + one.write_s;
    devices.hold_until(written_s);
    buffers.hold_until(written_s);
    run.total_s = std::max(run.total_s, written_s);
  }
  run.draining_s = run.total_s - computed_s;
  return run;
}

}  // namespace forebay::model
