// SPDX-License-Identifier: Apache-2.0
#include "write/tuning_request.hpp"

#include <chrono>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::write {
namespace {

WriteFacts facts_of_eight_ranks() {
  return {.rank_layout = {.node_of_compute_rank = {0, 0, 0, 0, 1, 1, 1, 1}}, .step_bytes = {1_MiB}};
}

PlanTuner::Setup tuner_setup() {
  const WriteFacts facts = facts_of_eight_ranks();
  return {.facts = facts, .requested = {}, .opened = *plan_write(facts)};
}

TEST(TuningRequest, option_precedes_the_variable) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.toml";
  std::ofstream(path) << "format = 1\n";
  const Environment environment{{"FOREBAY_TUNING", directory / "other.toml"}};
  const auto request = read_tuning_request({.profile = path}, environment);
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->profile_path, path);
  EXPECT_TRUE(request->profile);
  EXPECT_FALSE(request->is_enabled);
  EXPECT_EQ(error_class(read_tuning_request({}, environment)), ErrorClass::kNotFound);
  EXPECT_EQ(read_tuning_request({}, {})->profile_path, "");
}

TEST(TuningRequest, tuned_run_may_begin_without_a_file) {
  const TemporaryDirectory directory;
  const auto request = read_tuning_request({.tune = true, .profile = directory / "new.toml"}, {});
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_TRUE(request->is_enabled);
  EXPECT_FALSE(request->profile);
  std::ofstream(directory / "new.toml") << "format = 9\n";
  EXPECT_FALSE(read_tuning_request({.tune = true, .profile = directory / "new.toml"}, {}));
}

TEST(TuningRequest, measurements_of_one_run_begin_the_next_one) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.toml";
  const TuningRequest first{.is_enabled = true, .profile_path = path};
  const auto tuner = make_tuner(first, tuner_setup());
  ASSERT_TRUE(tuner);
  EXPECT_TRUE(save_tuning(*tuner, path));
  EXPECT_FALSE(*load_tuning_profile(path)) << "nothing is measured";
  WritePlan last;
  for (std::uint64_t ordinal = 0; ordinal < 20; ++ordinal) {
    last = tuner->choose(ordinal);
    tuner->record({.ordinal = ordinal,
                   .durable_time = std::chrono::milliseconds(10 + 20 * last.writers),
                   .bytes = 8_MiB});
  }
  ASSERT_TRUE(save_tuning(*tuner, path));
  const auto second = read_tuning_request({.tune = true, .profile = path}, {});
  ASSERT_TRUE(second) << second.error().message();
  const auto opened = plan_with_profile(*second, facts_of_eight_ranks(), {});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->writers, last.writers);
  PlanTuner::Setup setup = tuner_setup();
  setup.opened = *opened;
  const auto resumed = make_tuner(*second, setup);
  EXPECT_EQ(resumed->choose(0).writers, last.writers);
  EXPECT_EQ(make_tuner({}, setup), nullptr);
}

}  // namespace
}  // namespace forebay::write
