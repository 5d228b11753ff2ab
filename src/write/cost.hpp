// SPDX-License-Identifier: Apache-2.0
// step_cost(): the cost of a step with a plan on a machine, by formulas: fast enough to compare
// hundreds of plans when a dataset is opened. Tests compare the storage part with
// simulated_step.hpp, event by event.
#pragma once

#include <algorithm>

#include "write/plan.hpp"

namespace forebay::write {

/// The times of one step, in microseconds. Application and staging memory are not included, because
/// they are the same for all plans.
struct StepCost {
  double metadata_us = 0;  ///< until the last file is created, and opened by all its writers
  /// Until the last byte is written, including metadata. Assumes that the writers have all bytes at
  /// the start.
  double storage_us = 0;
  double exchange_us = 0;     ///< until all bytes are at their writers
  double sync_us = 0;         ///< syncs of files, and publication
  bool is_overlapped = true;  ///< exchange and writes are concurrent

  double durable_us() const {
    const double moved =
        is_overlapped ? std::max(exchange_us, storage_us) : exchange_us + storage_us;
    return moved + sync_us;
  }
};

/// Bytes that a rank is assumed to put in a step while the real number is unknown.
inline constexpr std::uint64_t kAssumedStepBytes = 64_MiB;

/// Rate at which one current core copies between warm pages.
inline constexpr double kCopyMbPerS = 4000;

/// `plan` must be complete, as plan_write() returned it for these facts, which must have a machine.
/// Link speeds are those between clients and servers, the only ones in machine files.
StepCost step_cost(const WriteFacts& facts, const WritePlan& plan);

}  // namespace forebay::write
