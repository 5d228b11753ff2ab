// SPDX-License-Identifier: Apache-2.0
// The choice of the plan of a stream, and of each of its files, from what is known of the storage.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>
#include <forebay/stream_plan.hpp>

#include <cstdint>
#include <string>

namespace forebay {

/// Completes the part that belongs to the stream as a whole, its memory, and checks all values.
/// Pure. Fails with kInvalidArgument, naming field and limit.
Result<StreamPlan> plan_stream(const StreamPlan& requested = {});

/// The input of plan_output() for one file.
struct OutputFacts {
  Access access = Access::kBuffered;   ///< recommended for this file
  std::string access_reason = {};      ///< why that access is recommended
  bool is_in_memory = false;           ///< its file system is memory (tmpfs)
  std::uint64_t expected_bytes = 0;    ///< bytes that the program will write; 0: unknown
  std::uint64_t in_flight_bytes = 0;   ///< limit of its device; 0: unknown
  std::string in_flight_reason = {};   ///< source of that limit
  std::uint64_t saturation_bytes = 0;  ///< bytes in flight that keep its servers busy; 0: unknown
};

/// Chooses for one file what `plan`, a result of plan_stream(), leaves open. Pure.
OutputPlan plan_output(const OutputFacts& facts, const StreamPlan& plan);

}  // namespace forebay
