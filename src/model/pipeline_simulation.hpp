// SPDX-License-Identifier: Apache-2.0
// simulate_pipeline(): the run of a program that writes behind its computation, buffer by buffer.
// Tests compare the formulas of gain.hpp with it. It is the only solution if times vary.
#pragma once

#include <cstdint>
#include <span>

#include "model/gain.hpp"

namespace forebay::model {

/// The times of one buffer, in seconds.
struct BufferTimes {
  double compute_s = 0;
  double write_s = 0;
};

struct PipelineResources {
  std::uint64_t buffers = 2;  ///< at least 1
  std::uint64_t devices = 1;  ///< at least 1
};

/// Simulates a run over all of `times`. Buffer i is computed when buffer i - 1 is computed and one
/// buffer is free. It is written when it is computed and one device is free, in the order of
/// computation. It is free when it is written. More buffers, or more devices, never make the run
/// longer. Memory: one number for each buffer or device in use at a time.
Overlap simulate_pipeline(std::span<const BufferTimes> times, PipelineResources resources);

}  // namespace forebay::model
