// SPDX-License-Identifier: Apache-2.0
// What checkpoints cost a run, over all ranks: how long the application was held up, and how long
// it took until they were on storage.
#pragma once

#include <chrono>

#include "command/report.hpp"
#include "flow/part_store.hpp"
#include "flow/team.hpp"

namespace forebay::flow {

/// Of one rank.
struct CheckpointTimes {
  std::chrono::steady_clock::time_point start;  ///< of the first step
  double steps_s = 0;    ///< from there until the last checkpoint was durable
  double blocked_s = 0;  ///< of that, blocked by storage
  double drain_s = 0;    ///< of that, after the last step
};

/// Collective, after wait(). The member `kept` of apps/flow/README.md.
command::Json report_of_checkpoints(const PartStore& store,
                                    const CheckpointTimes& times,
                                    Team& team);

}  // namespace forebay::flow
