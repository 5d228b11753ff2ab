// SPDX-License-Identifier: Apache-2.0
// CyclingChooser: gives each group of steps another plan, as different as possible from the one
// before. For tests only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "write/plan_chooser.hpp"

namespace forebay {

/// Returns its plans one after the other, and checks that it receives each step as promised.
class CyclingChooser final : public write::PlanChooser {
 public:
  CyclingChooser(std::vector<WritePlan> plans, std::uint32_t steps_in_flight)
      : plans_(std::move(plans)), steps_in_flight_(steps_in_flight) {}

  void record(const write::StepMeasurement& step) override {
    EXPECT_TRUE(recorded_.insert(step.ordinal).second) << "step " << step.ordinal;
    if (step.outcome != write::MeasuredOutcome::kPublished) return;
    EXPECT_GT(step.bytes, 0U);
  }
  WritePlan choose(std::uint64_t ordinal) override {
    for (std::uint64_t before = 0; before + steps_in_flight_ <= ordinal; ++before)
      EXPECT_TRUE(recorded_.contains(before))
          << "step " << before << " at the choice of " << ordinal;
    return plans_[next_++ % plans_.size()];
  }

 private:
  const std::vector<WritePlan> plans_;
  const std::uint64_t steps_in_flight_;
  std::size_t next_ = 0;
  std::set<std::uint64_t> recorded_;
};

/// Plans of every strategy but collective for `ranks` compute ranks. They differ from `opened` only
/// in values that may change, with units that fit its memory.
inline std::vector<WritePlan> plans_to_cycle(const WritePlan& opened, std::uint32_t ranks) {
  std::vector<WritePlan> plans;
  const auto add = [&](Strategy strategy, std::uint32_t writers,
                       std::uint32_t files) -> WritePlan& {
    WritePlan& plan = plans.emplace_back(opened);
    plan.strategy = strategy;
    plan.writers = writers;
    plan.files = files;
    plan.tuning.placement = Placement::kInRank;
    plan.tuning.exchange.reset();
    plan.tuning.transfer_mode.reset();
    plan.tuning.access = plans.size() % 2 == 0 ? Access::kDirect : Access::kBuffered;
    plan.reason = "plan " + std::to_string(plans.size());
    return plan;
  };
  const std::uint32_t some = (ranks + 1) / 2;
  add(Strategy::kFilePerProcess, 0, 0);
  add(Strategy::kReducedBlocking, some, 1).tuning.exchange = Exchange::kMessage;
  add(Strategy::kBaton, ranks, 1).tuning.unit_bytes = opened.tuning.unit_bytes / 4;
  add(Strategy::kSerial, 0, 0);
  add(Strategy::kBrigade, 1, 1);
  add(Strategy::kGather, some, some).tuning.alignment_bytes = 64 << 10U;
  add(Strategy::kReducedBlocking, some, some).tuning.unit_bytes = opened.tuning.unit_bytes * 2;
  add(Strategy::kBaton, ranks, some);
  add(Strategy::kBrigade, some, 1);
  if (ranks == 1)
    for (WritePlan& plan : plans)
      plan.tuning.exchange.reset();
  return plans;
}

}  // namespace forebay
