// SPDX-License-Identifier: Apache-2.0
// The cost of checkpoints, over all ranks: how long storage blocked the solver, and how long
// checkpoints took to become durable.
#pragma once

#include <chrono>

#include "command/command_result.hpp"
#include "flow/part_store.hpp"
#include "flow/solver_comm.hpp"

namespace forebay::flow {

/// Times of one rank.
struct CheckpointTimes {
  std::chrono::steady_clock::time_point start;  ///< when the first step began
  double steps_s = 0;    ///< from `start` until the last checkpoint was durable
  double blocked_s = 0;  ///< part of steps_s in which storage blocked the rank
  double drain_s = 0;    ///< part of blocked_s after the last step
};

/// Collective, after PartStore::wait(). Returns the member `checkpoint_report` of
/// apps/flow/README.md.
command::Json checkpoint_report(const PartStore& store,
                                const CheckpointTimes& times,
                                SolverComm& comm);

}  // namespace forebay::flow
