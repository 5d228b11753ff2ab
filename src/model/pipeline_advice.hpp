// SPDX-License-Identifier: Apache-2.0
// How buffers and devices are chosen, for whoever knows what a pipeline takes: the formulas and the
// played runs ask the same questions, and get the same kind of answer.
#pragma once

#include <cstdint>

#include "model/fewest.hpp"
#include "model/gain.hpp"

namespace forebay::model {

/// The fewest buffers that take at most kAsGoodAsTheBest times as long as any number of them.
/// `total_s(pipeline)` must not grow with buffers.
template <class TotalTime>
std::uint64_t fewest_buffers(Pipeline pipeline, const TotalTime& total_s) {
  pipeline.buffers = kUnlimitedBuffers;
  const double enough_s = kAsGoodAsTheBest * total_s(pipeline);
  return fewest(pipeline.count, [&](std::uint64_t buffers) {
    pipeline.buffers = buffers;
    return total_s(pipeline) <= enough_s;
  });
}

/// The same for devices, with a buffer for everything. `total_s(pipeline)` must not grow with them.
template <class TotalTime>
std::uint64_t fewest_devices(Pipeline pipeline, const TotalTime& total_s) {
  pipeline.buffers = kUnlimitedBuffers;
  pipeline.devices = pipeline.count;
  const double enough_s = kAsGoodAsTheBest * total_s(pipeline);
  return fewest(pipeline.count, [&](std::uint64_t devices) {
    pipeline.devices = devices;
    return total_s(pipeline) <= enough_s;
  });
}

template <class TotalTime>
PipelineAdvice advise_by(Pipeline pipeline, const TotalTime& total_s) {
  PipelineAdvice advice;
  advice.buffers = fewest_buffers(pipeline, total_s);
  advice.devices = fewest_devices(pipeline, total_s);
  pipeline.devices = advice.devices;
  advice.devices_buffers = fewest_buffers(pipeline, total_s);
  return advice;
}

}  // namespace forebay::model
