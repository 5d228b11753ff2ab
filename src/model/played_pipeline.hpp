// SPDX-License-Identifier: Apache-2.0
// The run of a program that writes behind its computation, buffer by buffer: the schedule that the
// formulas of gain.hpp are held to, and the only answer where times vary.
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

/// Plays a run over all of `times`. Buffer i is computed when buffer i - 1 is and one buffer is
/// free; it is written when it is computed and one device is free, in the order of computation; it
/// is free when it is written. More buffers, or more devices, never make it longer. Takes memory
/// for as many numbers as there are buffers or devices in use at a time.
Overlap play(std::span<const BufferTimes> times, PipelineResources resources);

}  // namespace forebay::model
