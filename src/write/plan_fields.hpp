// SPDX-License-Identifier: Apache-2.0
// Every key of a plan's TOML once: name and range. The reader and the writer of plans are visitors
// of this function, so that neither can miss a key. A test compares it with
// docs/guides/strategies.md.
#pragma once

#include <forebay/write_plan.hpp>

#include "write/plan_limits.hpp"
#include "write/plan_names.hpp"

namespace forebay::write {

template <class Visitor, class Plan>
void visit_plan(Visitor& visit, Plan& plan) {
  visit.enumerator("strategy", plan.strategy, kStrategyNames);
  visit.count("writers", plan.writers, kWritersLimits);
  visit.count("files", plan.files, kWritersLimits);
  visit.enumerator("exchange", plan.tuning.exchange, kExchangeNames);
  visit.enumerator("transfer_mode", plan.tuning.transfer_mode, kTransferModeNames);
  visit.enumerator("placement", plan.tuning.placement, kPlacementNames);
  visit.count("stripe_count", plan.tuning.stripe_count, kStripeCountLimits);
  visit.size("stripe_bytes", plan.tuning.stripe_bytes, kStripeBytesLimits);
  visit.size("unit_bytes", plan.tuning.unit_bytes, kUnitBytesLimits);
  visit.size("alignment_bytes", plan.tuning.alignment_bytes, kAlignmentBytesLimits);
  visit.enumerator("access", plan.tuning.access, kAccessNames);
  visit.size("memory_bytes", plan.memory_bytes, kMemoryBytesLimits);
  visit.enumerator("staging_full_policy", plan.staging_full_policy, kStagingFullPolicyNames);
  visit.count("steps_in_flight", plan.steps_in_flight, kStepsInFlightLimits);
  visit.count("steps_per_group", plan.tuning.steps_per_group, kStepsPerGroupLimits);
  visit.count("retained_steps", plan.retained_steps, kRetainedStepsLimits);
  visit.enumerator("codec", plan.codec, kCodecNames);
  visit.count("codec_level", plan.codec_level, kCodecLevelLimits);
  visit.enumerator("checksum_stage", plan.tuning.checksum_stage, kChecksumStageNames);
  visit.time("step_timeout_ms", plan.step_timeout, kStepTimeoutMsLimits);
}

}  // namespace forebay::write
