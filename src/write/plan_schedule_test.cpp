// SPDX-License-Identifier: Apache-2.0
#include "write/plan_schedule.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "write/plan.hpp"
#include "write/plan_decider.hpp"
#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kFirstGroup = 10;

WritePlan requested_plan() {
  WritePlan plan{.strategy = Strategy::kReducedBlocking, .writers = 2, .files = 1};
  plan.memory_bytes = 16_MiB;
  plan.steps_in_flight = 3;
  plan.tuning.unit_bytes = 1_MiB;
  plan.tuning.steps_per_group = 1;
  return plan;
}

PlanSchedule::Setup setup_of(const RankLayout& rank_layout,
                             const WritePlan& requested = requested_plan(),
                             PlanChanges changes = PlanChanges::kBetweenGroups) {
  const auto plan = plan_write({.rank_layout = rank_layout}, requested);
  EXPECT_TRUE(plan) << plan.error().message();
  return {
      .rank_layout = rank_layout, .plan = *plan, .first_group = kFirstGroup, .changes = changes};
}

WritePlan plan_with(std::uint32_t writers, std::uint32_t files) {
  WritePlan plan = requested_plan();
  plan.writers = writers;
  plan.files = files;
  return plan;
}

/// The cause of a refusal; empty if the plan is accepted.
std::string refusal(const PlanSchedule& plans, const WritePlan& plan) {
  const auto complete = plans.complete(plan);
  return complete ? "" : complete.error().message();
}

TEST(PlanSchedule, fixed_schedule_has_one_plan_for_all_groups) {
  const PlanSchedule plans(setup_of(single_node_layout(4), requested_plan(), PlanChanges::kNever));
  EXPECT_FALSE(plans.may_change());
  EXPECT_TRUE(plans.is_decided(kFirstGroup + 1'000'000));
  EXPECT_EQ(*plans.plan(0), plans.plan_at_opening());
  EXPECT_EQ(*plans.plan(UINT64_MAX), plans.plan_at_opening());
  EXPECT_EQ(plans.aggregation(kFirstGroup).writer_count(), 2U);
}

TEST(PlanSchedule, plans_of_steps_in_flight_are_decided_at_opening) {
  WritePlan plan = requested_plan();
  EXPECT_EQ(PlanSchedule(setup_of(single_node_layout(4), plan)).decided_end(), kFirstGroup + 3);
  plan.tuning.steps_per_group = 2;
  EXPECT_EQ(PlanSchedule(setup_of(single_node_layout(4), plan)).decided_end(), kFirstGroup + 2);
  plan.tuning.steps_per_group = 8;
  EXPECT_EQ(PlanSchedule(setup_of(single_node_layout(4), plan)).decided_end(), kFirstGroup + 1);
}

TEST(PlanSchedule, change_applies_from_its_group_on) {
  PlanSchedule plans(setup_of(single_node_layout(4)));
  ASSERT_TRUE(plans.add({kFirstGroup + 4, plan_with(4, 2)}));
  plans.decide_until(kFirstGroup + 6);
  EXPECT_EQ(plans.aggregation(kFirstGroup + 3).writer_count(), 2U);
  EXPECT_EQ(plans.aggregation(kFirstGroup + 4).file_count(), 2U);
  EXPECT_EQ(plans.plan(kFirstGroup + 100)->writers, 4U);
  EXPECT_EQ(plans.plan_at_opening().writers, 2U);
  EXPECT_TRUE(plans.is_decided(kFirstGroup + 5));
  EXPECT_FALSE(plans.is_decided(kFirstGroup + 6));
}

TEST(PlanSchedule, change_of_decided_group_is_refused) {
  PlanSchedule plans(setup_of(single_node_layout(4)));
  EXPECT_FALSE(plans.add({kFirstGroup + 2, plan_with(4, 2)}));
  EXPECT_EQ(plans.plan(kFirstGroup + 2)->writers, 2U);
}

TEST(PlanSchedule, released_paths_are_built_again_for_late_messages) {
  PlanSchedule plans(setup_of(single_node_layout(4)));
  ASSERT_TRUE(plans.add({kFirstGroup + 3, plan_with(4, 4)}));
  plans.decide_until(kFirstGroup + 4);
  EXPECT_TRUE(plans.depends_on(3, 2));
  plans.release_before(kFirstGroup + 2);
  EXPECT_TRUE(plans.depends_on(3, 2)) << "a step of the former plan may be in flight";
  plans.release_before(kFirstGroup + 3);
  EXPECT_FALSE(plans.depends_on(3, 2));
  EXPECT_EQ(plans.aggregation(kFirstGroup + 1).writer_count(), 2U);
}

TEST(PlanSchedule, number_of_kept_changes_is_bounded) {
  PlanSchedule plans(setup_of(single_node_layout(4)));
  std::uint64_t group = plans.decided_end();
  for (std::size_t i = 0; i < kPlanChangesKept + 10; ++i, ++group) {
    ASSERT_TRUE(plans.add({group, plan_with(i % 2 == 0 ? 4 : 3, 1)}));
    plans.decide_until(group + 1);
  }
  EXPECT_EQ(plans.plan(kFirstGroup)->writers, plans.plan(group - kPlanChangesKept)->writers);
}

TEST(PlanSchedule, plan_beyond_resources_of_opening_is_refused_by_field) {
  const PlanSchedule plans(setup_of(single_node_layout(4)));
  EXPECT_EQ(refusal(plans, plan_with(4, 4)), "");
  EXPECT_THAT(refusal(plans, plan_with(5, 1)), HasSubstr("writers is 5"));
  EXPECT_THAT(refusal(plans, plan_with(2, 3)), HasSubstr("files is 3"));
  WritePlan plan = requested_plan();
  plan.memory_bytes = 32_MiB;
  EXPECT_THAT(refusal(plans, plan), HasSubstr("memory_bytes is 33554432"));
  plan = requested_plan();
  plan.tuning.unit_bytes = 4_MiB;
  EXPECT_EQ(refusal(plans, plan), "");
  plan = plan_with(4, 4);
  plan.tuning.unit_bytes = 5_MiB;
  EXPECT_THAT(refusal(plans, plan), HasSubstr("which takes 20971520 bytes"));
  plan = requested_plan();
  plan.tuning.placement = Placement::kDedicated;
  EXPECT_THAT(refusal(plans, plan), HasSubstr("there are no I/O ranks"));
  plan = requested_plan();
  plan.strategy = Strategy::kCollective;
  plan.writers = 0;
  EXPECT_THAT(refusal(plans, plan), HasSubstr("transfer_mode is collective"));
}

TEST(PlanSchedule, collective_plan_needs_the_files_of_the_one_at_opening) {
  WritePlan plan = requested_plan();
  plan.strategy = Strategy::kCollective;
  plan.writers = 0;
  const PlanSchedule plans(setup_of(single_node_layout(4), plan));
  EXPECT_EQ(refusal(plans, plan), "");
  EXPECT_EQ(refusal(plans, plan_with(2, 2)), "");
  plan.files = 2;
  EXPECT_THAT(refusal(plans, plan), HasSubstr("transfer_mode is collective"));
}

TEST(PlanSchedule, fixed_values_are_refused_by_name) {
  WritePlan opened = requested_plan();
  opened.codec = Codec::kZstd;
  const PlanSchedule plans(setup_of(single_node_layout(4), opened));
  const std::vector<std::pair<std::string, void (*)(WritePlan&)>> changes{
      {"stripe_count", [](WritePlan& plan) { plan.tuning.stripe_count = 2; }},
      {"stripe_bytes", [](WritePlan& plan) { plan.tuning.stripe_bytes = 1_MiB; }},
      {"staging_full_policy",
       [](WritePlan& plan) { plan.staging_full_policy = StagingFullPolicy::kFail; }},
      {"steps_in_flight", [](WritePlan& plan) { plan.steps_in_flight = 4; }},
      {"steps_per_group", [](WritePlan& plan) { plan.tuning.steps_per_group = 2; }},
      {"retained_steps", [](WritePlan& plan) { plan.retained_steps = 1; }},
      {"codec", [](WritePlan& plan) { plan.codec = Codec::kNone; }},
      {"codec_level", [](WritePlan& plan) { plan.codec_level = 9; }},
      {"step_timeout_ms", [](WritePlan& plan) { plan.step_timeout = std::chrono::minutes(1); }}};
  EXPECT_EQ(refusal(plans, opened), "");
  for (const auto& [field, change] : changes) {
    WritePlan plan = opened;
    change(plan);
    EXPECT_THAT(refusal(plans, plan), HasSubstr(field + " differs")) << field;
  }
}

/// Chains of steps in flight have one order, so that ranks do not wait for each other.
TEST(PlanSchedule, chains_of_all_accepted_plans_have_one_order) {
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    RankLayout layout;
    const auto nodes = 1 + static_cast<std::uint32_t>(random() % 4);
    for (std::uint32_t rank = 0; rank < 2 + random() % 7; ++rank)
      layout.node_of_compute_rank.push_back(static_cast<std::uint32_t>(random() % nodes));
    for (std::uint32_t rank = 0; rank < 1 + random() % 2; ++rank)
      layout.node_of_io_rank.push_back(static_cast<std::uint32_t>(random() % nodes));
    WritePlan opened = requested_plan();
    opened.writers = opened.files = 0;
    opened.tuning.placement = Placement::kDedicated;
    const PlanSchedule plans(setup_of(layout, opened));
    // next[a][b]: some accepted plan forwards from a to b, directly or not.
    const std::size_t ranks = layout.compute_rank_count();
    std::vector<std::vector<bool>> next(ranks, std::vector<bool>(ranks, false));
    for (std::uint32_t writers = 1; writers <= ranks; ++writers)
      for (const Placement placement : {Placement::kInRank, Placement::kDedicated}) {
        WritePlan plan = opened;
        plan.strategy = Strategy::kBrigade;
        plan.writers = plan.files = writers;
        plan.tuning.placement = placement;
        const auto accepted = plans.complete(plan);
        if (!accepted && writers <= layout.io_rank_count()) ++refused;
        if (!accepted) continue;
        const AggregationMap map(layout, *accepted);
        for (RankNumber rank = 0; rank < ranks; ++rank)
          if (const auto hop = map.next_hop(rank); hop && *hop < ranks) next[rank][*hop] = true;
      }
    for (std::size_t via = 0; via < ranks; ++via)
      for (std::size_t from = 0; from < ranks; ++from)
        for (std::size_t to = 0; to < ranks; ++to)
          if (next[from][via] && next[via][to]) next[from][to] = true;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      EXPECT_FALSE(next[rank][rank]) << "round " << round << ", rank " << rank;
  }
  EXPECT_GT(refused, 0) << "no layout has such chains";
}

/// Returns a plan with as many writers as the ordinal, at most six, and records its calls.
class RecordingChooser final : public PlanChooser {
 public:
  explicit RecordingChooser(std::vector<std::string>& calls) : calls_(calls) {}
  void record(const StepMeasurement& step) override {
    calls_.push_back("record " + std::to_string(step.ordinal));
  }
  WritePlan choose(std::uint64_t ordinal) override {
    calls_.push_back("choose " + std::to_string(ordinal));
    const auto writers = static_cast<std::uint32_t>(std::min<std::uint64_t>(ordinal, 6));
    WritePlan plan =
        plan_write({.rank_layout = single_node_layout(6)}, plan_with(writers, 1)).value();
    plan.reason = "of step " + std::to_string(ordinal);
    return plan;
  }
  void handle_refusal(std::uint64_t ordinal) override {
    calls_.push_back("refuse " + std::to_string(ordinal));
  }

 private:
  std::vector<std::string>& calls_;
};

class PlanDeciderTest : public ::testing::Test {
 protected:
  void start(const WritePlan& requested, LogSink* log = nullptr) {
    plans_ = std::make_unique<PlanSchedule>(setup_of(single_node_layout(6), requested));
    decider_ = std::make_unique<PlanDecider>(
        PlanDecider::Setup{"run.fb", std::make_unique<RecordingChooser>(calls_), log}, *plans_);
  }
  /// The first groups of the changes that the outcome of a step announces.
  std::vector<std::uint64_t> resolve(std::uint64_t step, std::uint64_t group) {
    calls_.clear();
    std::vector<std::uint64_t> groups;
    for (const PlanChange& change : decider_->handle_resolved({step, group}, {}))
      groups.push_back(change.first_group);
    return groups;
  }

  using Groups = std::vector<std::uint64_t>;
  using Calls = std::vector<std::string>;
  Calls calls_;
  std::unique_ptr<PlanSchedule> plans_;
  std::unique_ptr<PlanDecider> decider_;
};

TEST_F(PlanDeciderTest, each_outcome_decides_the_step_that_may_begin_then) {
  start(requested_plan());
  EXPECT_EQ(resolve(1, kFirstGroup), Groups{kFirstGroup + 3});
  EXPECT_EQ(calls_, (Calls{"record 0", "choose 3"}));
  EXPECT_EQ(plans_->decided_end(), kFirstGroup + 4);
  EXPECT_EQ(resolve(2, kFirstGroup + 1), Groups{kFirstGroup + 4});
  EXPECT_EQ(plans_->plan(kFirstGroup + 3)->writers, 3U);
  EXPECT_EQ(plans_->plan(kFirstGroup + 4)->writers, 4U);
}

TEST_F(PlanDeciderTest, outcome_that_overtakes_another_decides_nothing) {
  start(requested_plan());
  EXPECT_EQ(resolve(2, kFirstGroup + 1), Groups{});
  EXPECT_EQ(calls_, Calls{"record 1"});
  EXPECT_EQ(resolve(1, kFirstGroup), (Groups{kFirstGroup + 3, kFirstGroup + 4}));
  EXPECT_EQ(calls_, (Calls{"record 0", "choose 3", "choose 4"}));
}

TEST_F(PlanDeciderTest, plan_is_chosen_once_for_each_group) {
  WritePlan plan = requested_plan();
  plan.tuning.steps_per_group = 2;
  start(plan);
  plans_->decide_until(kFirstGroup + 2);  // ordinals 0 to 3, of which 3 is not in flight
  EXPECT_EQ(resolve(1, kFirstGroup), Groups{});
  EXPECT_EQ(resolve(2, kFirstGroup), Groups{});  // ordinal 4 begins a group; its plan is refused
  EXPECT_EQ(calls_, (Calls{"record 1", "choose 4", "refuse 4"}));
  EXPECT_EQ(resolve(3, kFirstGroup + 1), Groups{});
  EXPECT_EQ(calls_, Calls{"record 2"});
}

TEST_F(PlanDeciderTest, refused_plan_is_logged_once_and_the_plan_before_stays) {
  class : public LogSink {
   public:
    void write(LogLevel level, std::string_view line) noexcept override {
      EXPECT_EQ(level, LogLevel::kWarning);
      lines.emplace_back(line);
    }
    std::vector<std::string> lines;
  } log;
  WritePlan plan = requested_plan();
  plan.retained_steps = 3;  // the chooser's plans have another value
  start(plan, &log);
  EXPECT_EQ(resolve(1, kFirstGroup), Groups{});
  EXPECT_EQ(resolve(2, kFirstGroup + 1), Groups{});
  EXPECT_EQ(plans_->decided_end(), kFirstGroup + 5);
  EXPECT_EQ(plans_->plan(kFirstGroup + 4)->writers, 2U);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_THAT(log.lines.front(), HasSubstr("retained_steps differs"));
}

TEST_F(PlanDeciderTest, plan_that_differs_only_in_its_reason_is_no_change) {
  start(requested_plan());
  for (std::uint64_t group = kFirstGroup; group < kFirstGroup + 4; ++group)
    EXPECT_EQ(resolve(group, group), Groups{group + 3});
  EXPECT_EQ(resolve(5, kFirstGroup + 4), Groups{}) << "steps 6 and 7 have six writers";
  EXPECT_EQ(plans_->plan(kFirstGroup + 7)->reason, "of step 6");
}

TEST_F(PlanDeciderTest, steps_that_only_some_ranks_have_begun_do_not_stop_decisions) {
  start(requested_plan());
  EXPECT_EQ(resolve(1, kFirstGroup), Groups{kFirstGroup + 3});
  EXPECT_EQ(resolve(2, kFirstGroup), Groups{}) << "another rank began step 2 in its place";
  EXPECT_EQ(resolve(3, kFirstGroup + 1), Groups{kFirstGroup + 4});
}

}  // namespace
}  // namespace forebay::write
