// SPDX-License-Identifier: Apache-2.0
#include "model/pipeline_simulation.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

/// Equal resources, each held until some time: buffers or devices.
class ResourcePool {
 public:
  explicit ResourcePool(std::uint64_t size) : size_(size) { FOREBAY_ASSERT(size >= 1); }

  /// Takes the resource that is free first; returns the time from which it is free.
  double acquire() {
    if (busy_until_.size() < size_) return 0;
    const double free_at_s = busy_until_.top();
    busy_until_.pop();
    return free_at_s;
  }
  void hold_until(double moment_s) { busy_until_.push(moment_s); }

 private:
  std::uint64_t size_;
  std::priority_queue<double, std::vector<double>, std::greater<>> busy_until_;
};

}  // namespace

Overlap simulate_pipeline(std::span<const BufferTimes> times, PipelineResources resources) {
  ResourcePool buffers(resources.buffers);
  ResourcePool devices(resources.devices);
  Overlap run;
  double computed_s = 0;  // a time; names ending in _s below also count from the beginning
  for (const BufferTimes& one : times) {
    const double begin_s = std::max(computed_s, buffers.acquire());
    run.waiting_s += begin_s - computed_s;
    run.computing_s += one.compute_s;
    run.synchronous_s += one.compute_s + one.write_s;
    computed_s = begin_s + one.compute_s;
    const double written_s = std::max(computed_s, devices.acquire()) + one.write_s;
    devices.hold_until(written_s);
    buffers.hold_until(written_s);
    run.total_s = std::max(run.total_s, written_s);
  }
  run.draining_s = run.total_s - computed_s;
  return run;
}

}  // namespace forebay::model
