// SPDX-License-Identifier: Apache-2.0
// What a step costs by a plan on a machine, as formulas: quick enough to compare hundreds of plans
// when a dataset is opened. Tests hold what storage does to played_step.hpp, event by event.
#pragma once

#include <algorithm>

#include "write/plan.hpp"

namespace forebay::write {

/// The times of one step, in microseconds. Application and staging memory are not in it: they are
/// the same for all plans.
struct StepCost {
  double names_us = 0;      ///< until the last file is created, and opened by all who write to it
  double storage_us = 0;    ///< until the last byte is written, names included; were all bytes at
                            ///< their writers from the beginning
  double hand_over_us = 0;  ///< until all bytes are at their writers
  double sync_us = 0;       ///< syncing files and publishing
  bool at_once = true;      ///< handing over and writing go on side by side

  double durable_us() const {
    const double moved = at_once ? std::max(hand_over_us, storage_us) : hand_over_us + storage_us;
    return moved + sync_us;
  }
};

/// What a rank is taken to put in a step while that is not known.
inline constexpr std::uint64_t kAssumedStepBytes = 64_MiB;

/// Copies of a rank's memory: what a core of today does with warm pages.
inline constexpr double kCopyMbPerS = 4000;

/// `plan` is complete, as plan_write() gave it for these facts, which have a machine. Link speeds
/// are those between clients and servers: machine files know no others.
StepCost step_cost(const WriteFacts& facts, const WritePlan& plan);

}  // namespace forebay::write
