// SPDX-License-Identifier: Apache-2.0
// The search for numbers of buffers and devices, shared by formulas and simulated runs.
#pragma once

#include <cstdint>

#include "model/gain.hpp"
#include "model/min_satisfying.hpp"

namespace forebay::model {

/// The fewest buffers that take at most kNearBestFactor times as long as any number of them.
/// `total_s(pipeline)` must not grow with buffers.
template <class TotalTime>
std::uint64_t min_buffers(Pipeline pipeline, const TotalTime& total_s) {
  pipeline.buffers = kUnlimitedBuffers;
  const double enough_s = kNearBestFactor * total_s(pipeline);
  return min_satisfying(pipeline.count, [&](std::uint64_t buffers) {
    pipeline.buffers = buffers;
    return total_s(pipeline) <= enough_s;
  });
}

/// The same for devices, with a buffer for each write. `total_s(pipeline)` must not grow with
/// devices.
template <class TotalTime>
std::uint64_t min_devices(Pipeline pipeline, const TotalTime& total_s) {
  pipeline.buffers = kUnlimitedBuffers;
  pipeline.devices = pipeline.count;
  const double enough_s = kNearBestFactor * total_s(pipeline);
  return min_satisfying(pipeline.count, [&](std::uint64_t devices) {
    pipeline.devices = devices;
    return total_s(pipeline) <= enough_s;
  });
}

template <class TotalTime>
PipelineAdvice advise_with(Pipeline pipeline, const TotalTime& total_s) {
  PipelineAdvice advice;
  advice.buffers = min_buffers(pipeline, total_s);
  advice.devices = min_devices(pipeline, total_s);
  pipeline.devices = advice.devices;
  advice.devices_buffers = min_buffers(pipeline, total_s);
  return advice;
}

}  // namespace forebay::model
