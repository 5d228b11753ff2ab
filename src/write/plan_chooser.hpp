// SPDX-License-Identifier: Apache-2.0
// PlanChooser: chooses the plan of each step of a dataset from measurements of earlier steps.
#pragma once

#include <forebay/write_plan.hpp>

#include <chrono>
#include <cstdint>

namespace forebay::write {

/// One resolved step, as the commit coordinator measured it.
struct StepMeasurement {
  std::uint64_t ordinal = 0;  ///< counts the steps since the dataset was opened, from 0
  bool is_published = false;
  std::chrono::nanoseconds durable_time{};
  std::chrono::nanoseconds perceived_time{};
  std::uint64_t bytes = 0;  ///< of all ranks
};

/// Used by one thread. Does not block.
class PlanChooser {
 public:
  virtual ~PlanChooser() = default;
  virtual void record(const StepMeasurement& measurement) = 0;
  /// The complete plan of a step. `ordinal` grows by one with each call. Measurements of the steps
  /// in flight are not recorded yet.
  virtual WritePlan choose(std::uint64_t ordinal) = 0;
};

}  // namespace forebay::write
