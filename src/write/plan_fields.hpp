// SPDX-License-Identifier: Apache-2.0
// Every key of a plan's TOML once: name and range. What reads plans and what writes them are
// visitors of this function, so that neither can forget a key; a test holds it against the page.
#pragma once

#include <forebay/write_plan.hpp>

#include "write/plan_limits.hpp"
#include "write/plan_names.hpp"

namespace forebay::write {

template <class Visitor, class Plan>
void visit_plan(Visitor& visit, Plan& plan) {
  visit.word("strategy", plan.strategy, kStrategyNames);
  visit.count("writers", plan.writers, kWritersLimits);
  visit.count("files", plan.files, kWritersLimits);
  visit.word("hand_off", plan.hand_off, kHandOffNames);
  visit.word("schedule", plan.schedule, kScheduleNames);
  visit.word("placement", plan.placement, kPlacementNames);
  visit.count("targets", plan.targets, kTargetsLimits);
  visit.size("stripe_bytes", plan.stripe_bytes, kStripeBytesLimits);
  visit.size("unit_bytes", plan.unit_bytes, kUnitBytesLimits);
  visit.size("alignment_bytes", plan.alignment_bytes, kAlignmentBytesLimits);
  visit.size("memory_bytes", plan.memory_bytes, kMemoryBytesLimits);
  visit.word("when_full", plan.when_full, kWhenFullNames);
  visit.count("steps_in_flight", plan.steps_in_flight, kStepsInFlightLimits);
  visit.count("steps_per_group", plan.steps_per_group, kStepsPerGroupLimits);
  visit.count("keep", plan.keep, kKeepLimits);
  visit.word("codec", plan.codec, kCodecNames);
  visit.count("codec_level", plan.codec_level, kCodecLevelLimits);
  visit.word("checksum_by", plan.checksum_by, kChecksumByNames);
  visit.time("deadline_ms", plan.deadline, kDeadlineMsLimits);
}

}  // namespace forebay::write
