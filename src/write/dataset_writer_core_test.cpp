// SPDX-License-Identifier: Apache-2.0
#include "write/dataset_writer_core.hpp"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/message_transport_testing.hpp"
#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

WritePlan plan_with_short_timeout() {
  WritePlan plan{.strategy = Strategy::kSerial, .memory_bytes = 8_MiB};
  plan.step_timeout = std::chrono::milliseconds(10);
  return *plan_write({.rank_layout = single_node_layout(1)}, plan);
}

/// A tuner that has measured one step.
std::shared_ptr<PlanTuner> measured_tuner(const WritePlan& opened) {
  auto tuner = std::make_shared<PlanTuner>(PlanTuner::Setup{
      .facts = {.rank_layout = single_node_layout(1)}, .requested = opened, .opened = opened});
  tuner->record({.durable_time = std::chrono::milliseconds(1), .bytes = 1_MiB});
  return tuner;
}

TEST(DatasetWriterCore, second_close_saves_the_profile_if_the_first_one_timed_out) {
  const TemporaryDirectory directory;
  const std::string profile = directory / "app.tuning.toml";
  EventLoop executor;
  comm::run_on_ranks(1, [&](const comm::CommunicatorPtr& ranks) {
    const WritePlan plan = plan_with_short_timeout();
    const auto core = std::make_shared<DatasetWriterCore>(DatasetWriterCore::Setup{
        .path = "run.fb",
        .plan = std::make_shared<const WritePlan>(plan),
        .first_group = 1,
        .staging = StagingPool::create({.memory_bytes = 8_MiB, .segment_bytes = 64_KiB}).value(),
        .executor = &executor,
        .tuner = measured_tuner(plan),
        .profile_path = profile});
    // Without a coordinator no step is resolved.
    const auto agent = DatasetAgent::start({.path = "run.fb",
                                            .plan = plan,
                                            .rank_layout = single_node_layout(1),
                                            .first_group = 1,
                                            .transport = comm::open_transport(*ranks, {}),
                                            .file_writer = std::make_unique<TestFileWriter>(),
                                            .on_resolved = [](const StepId&, const Status&) {}});
    ASSERT_TRUE(agent) << agent.error().message();
    core->set_agent(*agent);
    const auto step = core->begin_step(1);
    ASSERT_TRUE(step) << step.error().message();
    const auto receipt = (*step)->commit();
    EXPECT_EQ(error_class(core->close()), ErrorClass::kLimit);
    EXPECT_FALSE(*load_tuning_profile(profile));
    core->on_resolved({1, 1}, {});
    EXPECT_TRUE(core->close());
    ASSERT_TRUE(*load_tuning_profile(profile));
    EXPECT_TRUE(core->close());
    EXPECT_EQ((*load_tuning_profile(profile))->entries.front().runs, 1U) << "saved once";
    (*agent)->stop(std::chrono::steady_clock::now());
  });
}

}  // namespace
}  // namespace forebay::write
