// SPDX-License-Identifier: Apache-2.0
// PlanTuner in a simulated run: steps in flight, groups, failures, profiles.
#include "write/plan_tuner.hpp"

#include <cmath>
#include <deque>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "write/cost.hpp"
#include "write/plan_candidates.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;

WriteFacts facts_of_run() {
  WriteFacts facts;
  for (std::uint32_t rank = 0; rank < 64; ++rank)
    facts.rank_layout.node_of_compute_rank.push_back(rank / 8);
  return facts;
}

model::Machine machine_of_run() {
  return {.name = "bigfs",
          .client = {.count = 8, .link_latency_us = 20, .link_bandwidth_mb_per_s = 3000},
          .layout = {.stripe_count = 1},
          .servers = {{.count = 16,
                       .latency_us = 500,
                       .concurrency = 2,
                       .bandwidth_mb_per_s = 400,
                       .write_latency_us = 500,
                       .write_bandwidth_mb_per_s = 400,
                       .sync_us = 3000}},
          .metadata = {.create_us = 4000, .open_us = 1000}};
}

/// A run whose steps cost what the model of another machine predicts.
class SimulatedRun {
 public:
  explicit SimulatedRun(const WritePlan& requested = {},
                        std::uint64_t rank_bytes = 8_MiB,
                        std::vector<TuningEntry> earlier = {})
      : truth_(machine_of_run()), assumed_(machine_of_run()), rank_bytes_(rank_bytes) {
    assumed_.servers.front().write_bandwidth_mb_per_s *= 1.6;
    assumed_.metadata.create_us *= 0.5;
    WriteFacts facts = facts_of_run();
    facts.machine = &assumed_;
    const auto opened = plan_write(facts, requested);
    EXPECT_TRUE(opened);
    plans_ = candidate_plans(facts, requested, *opened);
    tuner_ = std::make_unique<PlanTuner>(PlanTuner::Setup{
        .facts = facts, .requested = requested, .opened = *opened, .earlier = std::move(earlier)});
  }

  double cost_s(const WritePlan& plan) const {
    WriteFacts facts = facts_of_run();
    facts.machine = &truth_;
    facts.step_bytes = {rank_bytes_};
    return step_cost(facts, plan).durable_us() / 1e6;
  }
  double best_s() const {
    double best = 1e9;
    for (const WritePlan& plan : plans_)
      best = std::min(best, cost_s(plan));
    return best;
  }
  StepMeasurement measure(std::uint64_t ordinal, const WritePlan& plan) {
    const double seconds = cost_s(plan) * std::exp(0.1 * deviate_(random_));
    return {.ordinal = ordinal,
            .durable_time = std::chrono::nanoseconds(std::llround(seconds * 1e9)),
            .bytes = 64 * rank_bytes_};
  }
  /// Runs steps with two in flight, as the protocol does; returns the plan of the last one.
  WritePlan run(std::uint64_t steps) {
    std::deque<WritePlan> in_flight;
    WritePlan plan;
    for (std::uint64_t ordinal = 0; ordinal < steps; ++ordinal) {
      plan = ordinal < 2 ? plans_.front() : tuner_->choose(ordinal);
      in_flight.push_back(plan);
      if (in_flight.size() < 2) continue;
      tuner_->record(measure(ordinal - 1, in_flight.front()));
      in_flight.pop_front();
    }
    return plan;
  }
  PlanTuner& tuner() { return *tuner_; }
  const std::vector<WritePlan>& plans() const { return plans_; }

 private:
  model::Machine truth_;
  model::Machine assumed_;
  std::uint64_t rank_bytes_;
  std::vector<WritePlan> plans_;
  std::unique_ptr<PlanTuner> tuner_;
  std::mt19937_64 random_{1};
  std::normal_distribution<double> deviate_{0, 1};
};

TEST(PlanTuner, uses_a_good_plan_after_the_trials) {
  SimulatedRun run;
  const WritePlan last = run.run(20);
  EXPECT_LT(run.cost_s(last), 1.15 * run.best_s());
  EXPECT_THAT(last.reason, HasSubstr("best of "));
  EXPECT_THAT(last.reason, HasSubstr(std::to_string(last.writers) + " writer"));
}

TEST(PlanTuner, bad_values_of_the_program_stay) {
  SimulatedRun run({.strategy = Strategy::kReducedBlocking, .writers = 1});
  EXPECT_EQ(run.run(20).writers, 1U);
}

TEST(PlanTuner, steps_in_flight_try_different_plans) {
  SimulatedRun run;
  std::set<std::string> plans;
  for (std::uint64_t ordinal = 0; ordinal < 4; ++ordinal)
    plans.insert(to_toml(tuned_values(run.tuner().choose(ordinal))));
  EXPECT_EQ(plans.size(), 4U);
}

TEST(PlanTuner, steps_of_a_group_have_one_plan) {
  SimulatedRun run({.tuning = {.steps_per_group = 4}});
  for (std::uint64_t ordinal = 4; ordinal < 40; ++ordinal) {
    const WritePlan plan = run.tuner().choose(ordinal);
    if (ordinal % 4 != 0) {
      EXPECT_EQ(tuned_values(plan), tuned_values(run.tuner().choose(ordinal / 4 * 4)));
    }
    run.tuner().record(run.measure(ordinal, plan));
  }
}

TEST(PlanTuner, failed_trial_is_not_repeated) {
  SimulatedRun run;
  for (std::uint64_t ordinal = 0; ordinal < 2; ++ordinal)
    run.tuner().record(run.measure(ordinal, run.plans().front()));
  const WritePlan failed = run.tuner().choose(2);
  run.tuner().record({.ordinal = 2, .outcome = MeasuredOutcome::kFailed});
  for (std::uint64_t ordinal = 3; ordinal < 30; ++ordinal) {
    const WritePlan plan = run.tuner().choose(ordinal);
    EXPECT_NE(tuned_values(plan), tuned_values(failed));
    run.tuner().record(run.measure(ordinal, plan));
  }
}

TEST(PlanTuner, costs_of_steps_of_other_sizes_are_scaled) {
  SimulatedRun run;
  const WritePlan plan = run.plans().front();
  StepMeasurement step = run.measure(0, plan);
  run.tuner().record(step);
  step.ordinal = 1;
  step.durable_time *= 3;
  step.bytes *= 3;
  run.tuner().record(step);
  const auto entry = run.tuner().entry();
  ASSERT_TRUE(entry);
  ASSERT_EQ(entry->points.front().seconds.size(), 2U);
  EXPECT_NEAR(entry->points.front().seconds[0], entry->points.front().seconds[1], 1e-9);
  EXPECT_EQ(entry->scope.rank_bytes, 8_MiB);
}

TEST(PlanTuner, entry_of_a_run_resumes_the_search) {
  SimulatedRun first;
  EXPECT_FALSE(first.tuner().entry());
  const WritePlan last = first.run(30);
  const auto entry = first.tuner().entry();
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->plan, tuned_values(last));
  EXPECT_EQ(entry->scope.ranks, 64U);
  EXPECT_EQ(entry->scope.machine, "bigfs");
  EXPECT_GE(entry->points.size(), 5U);
  EXPECT_TRUE(parse_tuning_profile(to_toml(TuningProfile{{*entry}}), "entry"));
  SimulatedRun second({}, 8_MiB, {*entry});
  EXPECT_NE(tuned_values(second.tuner().choose(2)), tuned_values(last)) << "of which size?";
  second.tuner().record(second.measure(0, second.plans().front()));
  const double last_s = second.cost_s(last);
  EXPECT_LT(second.cost_s(second.tuner().choose(3)), 1.05 * last_s);
  const auto added = second.tuner().entry();
  ASSERT_TRUE(added);
  ASSERT_EQ(added->points.size(), 1U) << "only what the second run has measured";
  EXPECT_EQ(added->points.front().seconds.size(), 1U);
  const auto is_best = [&](const WritePlan& plan) { return is_same_plan(plan, added->plan); };
  const auto best = std::ranges::find_if(second.plans(), is_best);
  ASSERT_NE(best, second.plans().end());
  EXPECT_LT(second.cost_s(*best), 1.05 * last_s);
}

TEST(PlanTuner, entry_of_another_step_size_is_not_resumed) {
  SimulatedRun first;
  const WritePlan last = first.run(30);
  SimulatedRun second({}, 256_KiB, {*first.tuner().entry()});
  second.tuner().record(second.measure(0, second.plans().front()));
  EXPECT_NE(tuned_values(second.tuner().choose(2)), tuned_values(last));
  EXPECT_EQ(second.tuner().entry()->scope.rank_bytes, 256_KiB);
}

TEST(PlanTuner, abandoned_steps_do_not_exclude_their_plan) {
  SimulatedRun run;
  const WritePlan best = run.run(30);
  for (std::uint64_t ordinal = 30; ordinal < 34; ++ordinal) {
    EXPECT_EQ(tuned_values(run.tuner().choose(ordinal)), tuned_values(best));
    run.tuner().record({.ordinal = ordinal, .outcome = MeasuredOutcome::kAbandoned});
  }
}

TEST(PlanTuner, time_of_a_refused_plan_is_that_of_the_plan_before) {
  SimulatedRun run;
  run.tuner().record(run.measure(0, run.plans().front()));
  const WritePlan refused = run.tuner().choose(2);
  run.tuner().handle_refusal(2);
  run.tuner().record(run.measure(2, run.plans().front()));
  const auto entry = run.tuner().entry();
  EXPECT_EQ(entry->points.front().plan, tuned_values(run.plans().front()));
  EXPECT_EQ(entry->points.front().seconds.size(), 2U);
  EXPECT_EQ(entry->points.back().plan, tuned_values(refused));
  EXPECT_TRUE(entry->points.back().seconds.empty());
}

TEST(PlanTuner, step_with_fewer_bytes_than_ranks_gives_a_valid_profile) {
  SimulatedRun run;
  run.tuner().record({.durable_time = std::chrono::milliseconds(1), .bytes = 3});
  const auto entry = run.tuner().entry();
  ASSERT_TRUE(entry);
  EXPECT_TRUE(parse_tuning_profile(to_toml(TuningProfile{{*entry}}), "entry"));
}

TEST(PlanTuner, works_without_a_machine) {
  WriteFacts facts = facts_of_run();
  facts.storage = StorageKind::kParallel;
  const auto opened = plan_write(facts);
  ASSERT_TRUE(opened);
  PlanTuner tuner({.facts = facts, .requested = {}, .opened = *opened});
  SimulatedRun truth;
  for (std::uint64_t ordinal = 0; ordinal < 25; ++ordinal)
    tuner.record(truth.measure(ordinal, tuner.choose(ordinal)));
  const double tuned = truth.cost_s(tuner.choose(25));
  EXPECT_LE(tuned, 1.1 * truth.cost_s(*opened));
  EXPECT_LT(tuned, 1.5 * truth.best_s());
  EXPECT_EQ(tuner.entry()->points.front().predicted_s, 0);
}

}  // namespace
}  // namespace forebay::write
