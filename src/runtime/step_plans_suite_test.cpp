// SPDX-License-Identifier: Apache-2.0
// Datasets of which each step, or group of steps, has another plan. The bytes are the same.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_testing.hpp"
#include "runtime/plan_cycle_testing.hpp"
#include "runtime/runtime_access.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kCycleParts = 23;
constexpr std::uint64_t kCycleSteps = 24;

template <class F>
void with_cycle_fixture(F test) {
  comm::CommunicatorTest::run_on_all_ranks([&](const Communicator& communicator) {
    DatasetFixture fixture(communicator);
    test(fixture);
  });
}

WritePlan plan_to_open(std::uint32_t steps_in_flight = 2) {
  WritePlan plan{.strategy = Strategy::kReducedBlocking, .writers = 1, .files = 1};
  plan.memory_bytes = 16_MiB;
  plan.tuning.unit_bytes = 1_MiB;
  plan.tuning.steps_per_group = 1;
  plan.tuning.checksum_stage = ChecksumStage::kAgent;
  plan.steps_in_flight = steps_in_flight;
  plan.step_timeout = std::chrono::minutes(1);
  return plan;
}

Result<DatasetWriter> create_with_cycle(DatasetFixture& fixture,
                                        const std::string& path,
                                        const WritePlan& plan,
                                        const std::vector<WritePlan>& cycle) {
  std::shared_ptr<write::PlanChooser> chooser;
  if (fixture.is_first()) chooser = std::make_unique<CyclingChooser>(cycle, plan.steps_in_flight);
  return RuntimeAccess::create_dataset(fixture.runtime, path, {.plan = plan}, std::move(chooser));
}

/// Each step in `commits` has the writers and files of its receipt.
void expect_as_in_receipts(const std::string& path, const std::vector<Receipt>& receipts) {
  const auto catalog = format::Catalog::open(path);
  ASSERT_TRUE(catalog) << catalog.error().message();
  for (const Receipt& receipt : receipts) {
    const auto entry =
        std::ranges::find((*catalog)->steps(), receipt.step, &format::StepEntry::step);
    if (entry == (*catalog)->steps().end()) continue;  // not retained
    EXPECT_EQ(entry->writers, receipt.plan->writers) << "step " << receipt.step;
    EXPECT_EQ(entry->files.size(), receipt.plan->files) << "step " << receipt.step;
  }
}

/// Puts all steps without waiting for receipts, then returns the receipts.
std::vector<Receipt> write_cycle(DatasetFixture& fixture, DatasetWriter& dataset) {
  std::vector<Future<Receipt>> pending;
  for (std::uint64_t number = 1; number <= kCycleSteps; ++number)
    pending.push_back(start_writing_parts(fixture, dataset, number, kCycleParts));
  std::vector<Receipt> receipts;
  for (Future<Receipt>& one : pending) {
    const auto receipt = one.wait();
    EXPECT_TRUE(receipt) << receipt.error().message();
    if (receipt) receipts.push_back(*receipt);
  }
  return receipts;
}

std::vector<std::uint64_t> step_numbers(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t number = first; number <= last; ++number)
    numbers.push_back(number);
  return numbers;
}

void write_and_compare_cycle(DatasetFixture& fixture,
                             std::uint32_t steps_in_flight,
                             std::uint32_t steps_per_group) {
  const std::string name =
      "run-" + std::to_string(steps_in_flight) + "-" + std::to_string(steps_per_group);
  SCOPED_TRACE(name);
  const std::string path = fixture.directory / name;
  WritePlan plan = plan_to_open(steps_in_flight);
  plan.tuning.steps_per_group = steps_per_group;
  const auto cycle = plans_to_cycle(plan, fixture.runtime.rank_count());
  auto dataset = create_with_cycle(fixture, path, plan, cycle);
  ASSERT_TRUE(dataset) << dataset.error().message();
  const std::vector<Receipt> receipts = write_cycle(fixture, *dataset);
  const Status closed = dataset->close();
  EXPECT_TRUE(closed) << closed.error().message();
  EXPECT_LE(dataset->report().staging_bytes_max, plan.memory_bytes);
  fixture.barrier();
  std::set<std::string> reasons;
  for (const Receipt& receipt : receipts)
    reasons.insert(receipt.plan->reason);
  // The first groups have the plan at opening.
  const std::uint64_t groups = (kCycleSteps - steps_in_flight) / steps_per_group;
  EXPECT_GE(reasons.size(), std::min<std::uint64_t>(cycle.size(), groups));
  if (fixture.is_first()) {
    EXPECT_TRUE(has_steps(path, step_numbers(1, kCycleSteps), kCycleParts));
    expect_as_in_receipts(path, receipts);
  }
  fixture.barrier();
}

TEST_P(DatasetSuite, steps_with_changing_plans_have_the_same_bytes) {
  with_cycle_fixture([](DatasetFixture& fixture) {
    // Steps in flight, and steps in a group.
    for (const auto& [in_flight, in_group] : {std::pair(1U, 1U), {2U, 3U}, {5U, 1U}, {4U, 2U}})
      write_and_compare_cycle(fixture, in_flight, in_group);
  });
}

std::set<std::string> data_files(const std::string& path) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("data") || name.starts_with("free")) names.insert(name);
  }
  return names;
}

TEST_P(DatasetSuite, files_of_dropped_steps_with_changing_plans_do_not_stay) {
  with_cycle_fixture([](DatasetFixture& fixture) {
    WritePlan plan = plan_to_open();
    plan.retained_steps = 2;
    auto dataset = create_with_cycle(fixture, fixture.path(), plan,
                                     plans_to_cycle(plan, fixture.runtime.rank_count()));
    ASSERT_TRUE(dataset) << dataset.error().message();
    const std::vector<Receipt> receipts = write_cycle(fixture, *dataset);
    ASSERT_EQ(receipts.size(), kCycleSteps);
    EXPECT_TRUE(dataset->close());
    fixture.barrier();
    if (fixture.is_first()) {
      const std::size_t live =
          receipts[kCycleSteps - 2].plan->files + receipts[kCycleSteps - 1].plan->files;
      EXPECT_TRUE(read::wait_until([&] { return data_files(fixture.path()).size() == live; }))
          << testing::PrintToString(data_files(fixture.path())) << ", expected " << live;
      EXPECT_TRUE(has_steps(fixture.path(), {kCycleSteps - 1, kCycleSteps}, kCycleParts));
    }
    fixture.barrier();
  });
}

TEST_P(DatasetSuite, aborted_steps_with_changing_plans_are_skipped) {
  with_cycle_fixture([](DatasetFixture& fixture) {
    const WritePlan plan = plan_to_open(3);
    auto dataset = create_with_cycle(fixture, fixture.path(), plan,
                                     plans_to_cycle(plan, fixture.runtime.rank_count()));
    ASSERT_TRUE(dataset) << dataset.error().message();
    const std::uint32_t last = fixture.runtime.rank_count() - 1;
    std::vector<std::uint64_t> expected;
    std::vector<Future<Receipt>> pending;
    for (std::uint64_t number = 1; number <= kCycleSteps; ++number) {
      const bool is_aborted = number % 3 == 0;
      if (!is_aborted) expected.push_back(number);
      if (is_aborted && fixture.runtime.rank() == last) {
        auto step = dataset->begin_step(number);
        ASSERT_TRUE(step) << step.error().message();
        step->abort();
        continue;
      }
      pending.push_back(start_writing_parts(fixture, *dataset, number, kCycleParts));
    }
    for (Future<Receipt>& one : pending)
      std::ignore = one.wait();
    std::ignore = dataset->close();
    fixture.barrier();
    if (fixture.is_first()) {
      EXPECT_TRUE(has_steps(fixture.path(), expected, kCycleParts));
    }
    fixture.barrier();
  });
}

TEST_P(DatasetSuite, collective_dataset_can_change_to_other_modes_and_back) {
  with_cycle_fixture([](DatasetFixture& fixture) {
    WritePlan plan = plan_to_open();
    plan.strategy = Strategy::kCollective;
    plan.writers = 0;
    std::vector<WritePlan> cycle = plans_to_cycle(plan, fixture.runtime.rank_count());
    for (std::size_t i = 0; i < cycle.size(); i += 2)
      cycle[i] = plan;
    auto dataset = create_with_cycle(fixture, fixture.path(), plan, cycle);
    ASSERT_TRUE(dataset) << dataset.error().message();
    std::ignore = write_cycle(fixture, *dataset);
    EXPECT_TRUE(dataset->close());
    fixture.barrier();
    if (fixture.is_first()) {
      EXPECT_TRUE(has_steps(fixture.path(), step_numbers(1, kCycleSteps), kCycleParts));
    }
    fixture.barrier();
  });
}

/// Counts warnings.
class WarningCount final : public LogSink {
 public:
  void write(LogLevel level, std::string_view line) noexcept override {
    if (level == LogLevel::kWarning && line.find("a plan for coming steps") != line.npos) ++count_;
  }
  std::uint32_t count() const noexcept { return count_; }

 private:
  std::atomic<std::uint32_t> count_{0};
};

TEST_P(DatasetSuite, unusable_plan_is_logged_once_and_not_used) {
  comm::CommunicatorTest::run_on_all_ranks([](const Communicator& communicator) {
    WarningCount log;
    DatasetFixture fixture(communicator, {.log = &log});
    const WritePlan plan = plan_to_open();
    WritePlan excessive = plan;
    excessive.memory_bytes = 2 * plan.memory_bytes;
    auto dataset = create_with_cycle(fixture, fixture.path(), plan, {excessive});
    ASSERT_TRUE(dataset) << dataset.error().message();
    for (const Receipt& receipt : write_cycle(fixture, *dataset))
      EXPECT_EQ(*receipt.plan, dataset->plan());
    EXPECT_TRUE(dataset->close());
    EXPECT_EQ(log.count(), fixture.is_first() ? 1U : 0U);
    fixture.barrier();
  });
}

/// Plans of a tuned run with one step in flight, so that each step is a measurement.
std::vector<Receipt> write_tuned(DatasetFixture& fixture, DatasetWriter& dataset) {
  std::vector<Receipt> receipts;
  for (std::uint64_t number = 1; number <= kCycleSteps; ++number) {
    const auto receipt = start_writing_parts(fixture, dataset, number, kCycleParts).wait();
    EXPECT_TRUE(receipt) << receipt.error().message();
    if (receipt) receipts.push_back(*receipt);
  }
  return receipts;
}

TEST_P(DatasetSuite, tuned_run_tries_plans_and_keeps_what_it_has_learned) {
  with_cycle_fixture([](DatasetFixture& fixture) {
    const std::string profile = fixture.directory / "run.tuning";
    const DatasetOptions options{
        .plan = WritePlan{.steps_in_flight = 1}, .tune = true, .profile = profile};
    auto dataset = fixture.runtime.create_dataset(fixture.path(), options);
    ASSERT_TRUE(dataset) << dataset.error().message();
    const std::vector<Receipt> receipts = write_tuned(fixture, *dataset);
    ASSERT_EQ(receipts.size(), kCycleSteps);
    const Status closed = dataset->close();
    EXPECT_TRUE(closed) << closed.error().message();
    EXPECT_LE(dataset->report().staging_bytes_max, dataset->plan().memory_bytes);
    fixture.barrier();
    std::set<std::string> shapes;
    for (const Receipt& receipt : receipts) {
      const WritePlan& plan = *receipt.plan;
      shapes.insert(std::to_string(plan.writers) + "/" + std::to_string(plan.files) + "/" +
                    std::to_string(plan.tuning.unit_bytes));
    }
    EXPECT_GT(shapes.size(), 1U);
    EXPECT_FALSE(receipts.back().plan->reason.empty());
    if (fixture.is_first()) {
      EXPECT_TRUE(has_steps(fixture.path(), step_numbers(1, kCycleSteps), kCycleParts));
      EXPECT_TRUE(std::filesystem::exists(profile));
    }
    fixture.barrier();
  });
}

}  // namespace
}  // namespace forebay
