// SPDX-License-Identifier: Apache-2.0
// PlanDecider: decides the plans of coming groups on the coordinating rank, when steps are
// resolved. After the first k steps are resolved, a rank may begin the step k + steps_in_flight - 1
// and no later one. So exactly the plans of the steps up to that one are decided.
#pragma once

#include <forebay/log.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "write/messages.hpp"
#include "write/plan_chooser.hpp"
#include "write/plan_schedule.hpp"

namespace forebay::write {

/// Belongs to the agent's thread.
class PlanDecider {
 public:
  struct Setup {
    std::string path;  ///< of the dataset, for the log
    std::shared_ptr<PlanChooser> chooser;
    LogSink* log = nullptr;  ///< null: no logging
  };
  /// `plans` must outlive this object.
  PlanDecider(Setup setup, PlanSchedule& plans);

  /// Records the step, and decides the plans of the groups that may begin now. Adds them to the
  /// schedule, and returns those whose values differ from the plan before. A plan that the
  /// schedule does not accept is logged and refused, and the group has the plan before.
  /// `step.ordinal` is set here.
  std::vector<PlanChange> handle_resolved(const StepId& id, StepMeasurement step);

 private:
  std::uint64_t first_ordinal(std::uint64_t group) const;
  std::uint64_t resolved_steps();
  void log_refusal(const std::string& message);

  const Setup setup_;
  PlanSchedule& plans_;
  std::uint64_t first_open_group_;                 ///< with unresolved steps
  std::map<std::uint64_t, std::uint64_t> counts_;  ///< resolved steps by group, from that one on
  std::string last_refusal_;
};

}  // namespace forebay::write
