// SPDX-License-Identifier: Apache-2.0
// PlanChooser: chooses the plans of coming steps from what earlier steps have cost. An interface,
// so that the agents of a dataset do not depend on how plans are compared.
#pragma once

#include <forebay/write_plan.hpp>

#include <chrono>
#include <cstdint>

namespace forebay::write {

enum class MeasuredOutcome : std::uint8_t {
  kPublished,
  kFailed,     ///< failed or in doubt
  kAbandoned,  ///< aborted by the program, invalid, or a rank was lost or has left: not by its plan
};

/// What one resolved step has cost, as the coordinator measures it.
struct StepMeasurement {
  /// Number of steps begun before it since the dataset was opened. Within a group, steps are
  /// numbered in the order of their outcomes.
  std::uint64_t ordinal = 0;
  MeasuredOutcome outcome = MeasuredOutcome::kPublished;
  /// To the outcome, from begin_step() of the coordinating rank or the outcome of the step before,
  /// whichever is later. 0 if that rank has not committed, and if the step mostly waited for the
  /// one before.
  std::chrono::nanoseconds durable_time{};
  std::uint64_t bytes = 0;  ///< put by all ranks; 0 unless it is published
};

/// Lives on the coordinating rank. The agent calls it on its own thread, one call at a time, and
/// the outcome of a step waits for them. So they must return within a few milliseconds and must not
/// block; longer work belongs on a thread of the implementation.
class PlanChooser {
 public:
  PlanChooser() = default;
  PlanChooser(const PlanChooser&) = delete;
  PlanChooser& operator=(const PlanChooser&) = delete;
  virtual ~PlanChooser() = default;

  /// Called once for each resolved step. A step that failed may precede an earlier one.
  virtual void record(const StepMeasurement& step) = 0;
  /// Returns the complete plan, as of plan_write(), of the step `ordinal` and of the others of its
  /// group. Called once for each group, in order, except for groups that begin within the first
  /// plan().steps_in_flight steps, which have the plan at opening. record() has then received all
  /// steps before ordinal - steps_in_flight + 1. PlanSchedule::complete() lists what may differ
  /// from the plan at opening.
  virtual WritePlan choose(std::uint64_t ordinal) = 0;
  /// Called if the plan chosen for `ordinal` is refused: its group has the plan of the one before.
  virtual void handle_refusal(std::uint64_t /*ordinal*/) {}
};

}  // namespace forebay::write
