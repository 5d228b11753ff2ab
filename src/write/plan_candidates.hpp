// SPDX-License-Identifier: Apache-2.0
// candidate_plans(): the plans that a tuner compares for a job. Pure.
#pragma once

#include <forebay/write_plan.hpp>

#include <vector>

#include "write/plan.hpp"

namespace forebay::write {

/// Complete plans that differ in strategy, writers, files and unit_bytes, without duplicates. Each
/// strategy with its writers and files is also there with the access that its files would not get
/// by default, or with both if the bytes of steps are unknown, except in memory and on FUSE.
/// `opened` is the plan at opening, as plan_write() returned it for `requested`, and comes first.
/// Values that `requested` sets do not change. Nor do placement, memory_bytes and all others that a
/// step cannot change: PlanSchedule::complete() accepts each plan. Collective and serial plans keep
/// their writers and files. At most a few hundred plans.
std::vector<WritePlan> candidate_plans(const WriteFacts& facts,
                                       const WritePlan& requested,
                                       const WritePlan& opened);

}  // namespace forebay::write
