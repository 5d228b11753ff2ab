// SPDX-License-Identifier: Apache-2.0
// Decisions of the first rank while another program writes the same dataset.
#include "write/decision.hpp"

#include <filesystem>
#include <utility>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "format/testing.hpp"
#include "write/lease_testing.hpp"

namespace forebay::write {
namespace {

/// `owner` is the file of a holder on another host that sends no heartbeat. So decide() waits for
/// its death.
class DecisionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    format::LeaseHolder remote = current_process();
    remote.host += "-far";
    remote.boot_id = "another";
    write_lease_file(directory_ / "owner", remote);
  }

  Result<Decision> decide_about(ExistingDataset existing) {
    return decide({.path = directory_.path(),
                   .existing = existing,
                   .facts = {.rank_layout = {.node_of_compute_rank = {0}}},
                   .requested = {}},
                  nullptr, clock_);
  }
  void write_step() {
    format::TestWriter(directory_.path(), format::test_dataset_id())
        .write(format::test_step(7, 2, 1));
  }

  TemporaryDirectory directory_;
  SimulatedClock clock_;
};

// There are no steps when decide() begins to wait. Then the former holder publishes one, and ends.
TEST_F(DecisionTest, step_published_during_the_wait_for_the_lease_is_found) {
  bool is_published = false;
  clock_.on_sleep = [&] {
    if (!std::exchange(is_published, true)) write_step();
  };
  EXPECT_EQ(error_class(decide_about(ExistingDataset::kFail)), ErrorClass::kExists);
  EXPECT_TRUE(is_published);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "owner")) << "the lease was released";
}

TEST_F(DecisionTest, append_continues_after_a_step_published_during_the_wait) {
  bool is_published = false;
  clock_.on_sleep = [&] {
    if (!std::exchange(is_published, true)) write_step();
  };
  const auto decision = decide_about(ExistingDataset::kAppend);
  ASSERT_TRUE(decision) << decision.error().message();
  EXPECT_EQ(decision->state.newest_step, 7U);
}

TEST_F(DecisionTest, other_ranks_receive_plan_and_reason) {
  std::filesystem::remove(directory_ / "owner");
  const auto decision = decide_about(ExistingDataset::kFail);
  ASSERT_TRUE(decision) << decision.error().message();
  const auto received = decision_from_bytes(to_bytes(*decision));
  ASSERT_TRUE(received) << received.error().message();
  EXPECT_EQ(received->plan, decision->plan);
  EXPECT_NE(received->plan.reason, "");
}

TEST_F(DecisionTest, profile_replaces_the_default_and_tuning_has_a_tuner) {
  std::filesystem::remove(directory_ / "owner");
  TuningEntry entry{.scope = {.ranks = 4, .nodes = 2, .rank_bytes = 1_MiB},
                    .median_s = 2,
                    .plan = {.strategy = Strategy::kReducedBlocking, .writers = 3, .files = 3}};
  const DecisionRequest request{.path = directory_.path(),
                                .facts = {.rank_layout = {.node_of_compute_rank = {0, 0, 1, 1}}},
                                .requested = {},
                                .tuning = {.is_enabled = true, .profile = TuningProfile{{entry}}}};
  const auto decision = decide(request, nullptr, clock_);
  ASSERT_TRUE(decision) << decision.error().message();
  EXPECT_EQ(decision->plan.writers, 3U);
  EXPECT_NE(decision->plan.reason.find("tuned at 4 ranks"), std::string::npos);
  ASSERT_TRUE(decision->tuner);
  EXPECT_EQ(tuned_values(decision->tuner->choose(0)), tuned_values(decision->plan));
}

TEST_F(DecisionTest, existing_steps_are_refused_without_a_wait) {
  write_step();
  EXPECT_EQ(error_class(decide_about(ExistingDataset::kFail)), ErrorClass::kExists);
  EXPECT_EQ(clock_.waited(), std::chrono::milliseconds(0));
}

}  // namespace
}  // namespace forebay::write
