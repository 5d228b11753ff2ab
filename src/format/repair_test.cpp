// SPDX-License-Identifier: Apache-2.0
#include "format/repair.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "format/block_reader.hpp"
#include "format/data_header.hpp"
#include "format/dataset_testing.hpp"
#include "format/index_scan.hpp"
#include "format/verify.hpp"
#include "storage/faulty.hpp"

namespace forebay::format {
namespace {

using Outcome = RepairedStep::Outcome;

class RepairTest : public DatasetTest {
 protected:
  void write_steps(std::uint64_t count) {
    TestWriter writer(path(), test_dataset_id(), 2);
    for (std::uint64_t step = 1; step <= count; ++step)
      writer.write(test_step(step * 10, 5, 2));
    state_ = writer.state();
  }
  std::string file_content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// As write::repair(), a module above, but without its lease and fence.
  static void apply_plan(const RepairPlan& plan, const std::string& commits) {
    const storage::OpenOptions create{.intent = storage::Intent::kCreate};
    for (const HeaderWrite& header : plan.headers)
      ASSERT_TRUE(storage::must_open(header.path, create)->write_at(header.page, 0));
    for (const CommitPlan& generation : plan.generations)
      for (const CommitWrite& write : generation.writes)
        ASSERT_TRUE(storage::must_open(commits, create)->write_at(write.bytes, write.offset));
  }
  RepairReport must_repair() {
    auto plan = plan_repair(path());
    EXPECT_TRUE(plan) << plan.error().message();
    if (!plan) return {};
    apply_plan(*plan, path("commits"));
    return std::move(plan->report);
  }
  void expect_valid(std::size_t steps) {
    const auto report = verify(path());
    ASSERT_TRUE(report) << report.error().message();
    for (const Finding& finding : report->findings)
      ADD_FAILURE() << finding.error.message();
    EXPECT_EQ(report->steps, steps);
  }

  CommitsState state_;
};

TEST_F(RepairTest, valid_dataset_is_not_changed) {
  write_steps(3);
  const std::string before = file_content("commits");
  const RepairReport report = must_repair();
  EXPECT_TRUE(report.rewritten_paths.empty());
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(file_content("commits"), before);
  ASSERT_EQ(report.steps.size(), 3U);
  EXPECT_EQ(report.steps[0].outcome, Outcome::kKept);
}

TEST_F(RepairTest, missing_commits_are_rebuilt) {
  write_steps(5);
  const std::vector<StepEntry> before = open()->commits().steps;
  std::filesystem::remove(path("commits"));
  EXPECT_EQ(plan_repair(path())->report.rewritten_paths.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(path("commits")));
  const RepairReport report = must_repair();
  ASSERT_EQ(report.steps.size(), 5U);
  for (const RepairedStep& step : report.steps)
    EXPECT_EQ(step.outcome, Outcome::kRecovered) << step.reason;
  expect_valid(5);
  const auto catalog = open();
  EXPECT_EQ(catalog->commits().steps, before);
  EXPECT_EQ(catalog->dataset(), test_dataset_id());
}

TEST_F(RepairTest, torn_slot_is_rewritten_and_its_step_recovered) {
  write_steps(4);
  flip_byte("commits", state_.generation % 2 * kPageBytes + 300);
  EXPECT_EQ(open()->steps().size(), 3U);
  const RepairReport report = must_repair();
  ASSERT_EQ(report.steps.size(), 4U);
  EXPECT_EQ(report.steps[2].outcome, Outcome::kKept);
  EXPECT_EQ(report.steps[3].outcome, Outcome::kRecovered);
  expect_valid(4);
}

TEST_F(RepairTest, single_step_with_a_zeroed_slot_is_recovered) {
  write_steps(1);
  fill_with_zeros("commits", {kPageBytes, kPageBytes});
  const RepairReport report = must_repair();
  EXPECT_EQ(report.errors.size(), 1U);
  ASSERT_EQ(report.steps.size(), 1U);
  EXPECT_EQ(report.steps[0].outcome, Outcome::kRecovered);
  expect_valid(1);
}

TEST_F(RepairTest, new_dataset_is_not_changed) {
  const TestWriter writer(path(), test_dataset_id());
  const std::string before = file_content("commits");
  EXPECT_TRUE(must_repair().rewritten_paths.empty());
  EXPECT_EQ(file_content("commits"), before);
}

TEST_F(RepairTest, steps_with_damaged_data_are_not_recovered) {
  write_steps(4);
  const auto step = open()->step(40).value();
  const std::uint64_t data = step->block(step->find_part("velocity", 3).value()).offset;
  flip_byte("data-000001.00001", data);
  std::filesystem::remove(path("data-000000.00000"));
  std::filesystem::remove(path("commits"));
  const RepairReport report = must_repair();
  ASSERT_EQ(report.steps.size(), 4U);
  EXPECT_EQ(report.steps[0].outcome, Outcome::kDamaged);
  EXPECT_NE(report.steps[0].reason.find("1 of its 2 files"), std::string::npos);
  EXPECT_EQ(report.steps[1].outcome, Outcome::kDamaged);
  EXPECT_EQ(report.steps[2].outcome, Outcome::kRecovered);
  EXPECT_EQ(report.steps[3].outcome, Outcome::kDamaged);
  EXPECT_NE(report.steps[3].reason.find("field velocity, part 3"), std::string::npos)
      << report.steps[3].reason;
  expect_valid(1);
}

TEST_F(RepairTest, dropped_steps_stay_dropped_while_a_slot_records_it) {
  TestWriter writer(path(), test_dataset_id(), 4);
  for (std::uint64_t step = 1; step <= 4; ++step)
    writer.write(test_step(step, 3, 1));
  writer.drop_before(3);
  flip_byte("commits", (writer.state().generation + 1) % 2 * kPageBytes + 9);
  const RepairReport report = must_repair();
  EXPECT_EQ(report.steps.size(), 2U);
  expect_valid(2);
}

/// As a writer with keep=2 leaves it, if the slot that recorded the last drop is lost.
TEST_F(RepairTest, steps_dropped_after_the_remaining_slot_are_left_out) {
  TestWriter writer(path(), test_dataset_id());
  for (std::uint64_t step = 1; step <= 3; ++step)
    writer.write(test_step(step, 3, 2));
  writer.drop_before(2);
  std::filesystem::remove(path("data-000000.00000"));
  std::filesystem::remove(path("data-000000.00001"));
  fill_with_zeros("commits", {writer.state().generation % 2 * kPageBytes, kPageBytes});
  EXPECT_EQ(open()->steps().size(), 3U);
  const RepairReport report = must_repair();
  ASSERT_EQ(report.steps.size(), 3U);
  EXPECT_EQ(report.steps[0].outcome, Outcome::kDropped);
  EXPECT_EQ(report.steps[1].outcome, Outcome::kKept);
  EXPECT_TRUE(report.unrepaired.empty());
  EXPECT_EQ(open()->commits().state.first_step, 2U);
  expect_valid(2);
}

TEST_F(RepairTest, lost_and_damaged_files_of_kept_steps_are_reported) {
  write_steps(4);  // two in a group
  std::filesystem::remove(path("data-000000.00001"));
  const auto step = open()->step(30).value();
  flip_byte("data-000001.00000", step->files()[0].entry.index.offset + 50);
  const auto expect_remaining = [&](const RepairReport& report) {
    ASSERT_EQ(report.unrepaired.size(), 2U);
    EXPECT_TRUE(message_contains(report.unrepaired[0], "data-000000.00001"));
    EXPECT_TRUE(message_contains(report.unrepaired[1], "step 30"));
    EXPECT_GE(report.errors.size(), report.unrepaired.size());
  };
  expect_remaining(must_repair());
  flip_byte("commits", (state_.generation + 1) % 2 * kPageBytes + 9);
  expect_remaining(must_repair());
  EXPECT_EQ(open()->steps().size(), 4U);
}

TEST_F(RepairTest, step_in_the_newest_slot_is_never_taken_as_dropped) {
  write_steps(4);
  std::filesystem::remove(path("data-000000.00000"));
  std::filesystem::remove(path("data-000000.00001"));
  EXPECT_EQ(must_repair().unrepaired.size(), 2U);
  EXPECT_EQ(open()->steps().size(), 4U);
}

TEST_F(RepairTest, exchanged_files_are_not_changed) {
  write_steps(4);
  const std::string first = file_content("data-000000.00000");
  const std::string second = file_content("data-000001.00000");
  std::filesystem::rename(path("data-000000.00000"), path("kept"));
  std::filesystem::rename(path("data-000001.00000"), path("data-000000.00000"));
  std::filesystem::rename(path("kept"), path("data-000001.00000"));
  const RepairReport report = must_repair();
  EXPECT_TRUE(report.rewritten_paths.empty());
  EXPECT_TRUE(std::ranges::any_of(report.unrepaired, [&](const Error& error) {
    return error.path() == path("data-000000.00000") &&
           message_contains(error, "data-000001.00000");
  }));
  EXPECT_EQ(file_content("data-000001.00000"), first);
  EXPECT_EQ(file_content("data-000000.00000"), second);
}

TEST_F(RepairTest, header_of_an_older_file_is_rewritten) {
  write_steps(2);
  const HeaderPage old = encode_header({test_dataset_id(), {17, 3}});
  ASSERT_TRUE(storage::must_open(path("data-000000.00000"), {.intent = storage::Intent::kWrite})
                  ->write_at(old, 0));
  const RepairReport report = must_repair();
  EXPECT_EQ(report.rewritten_paths.size(), 1U);
  EXPECT_TRUE(report.unrepaired.empty());
  expect_valid(2);
}

TEST_F(RepairTest, unreadable_data_file_does_not_stop_repair) {
  write_steps(4);
  std::filesystem::create_directory(path("data-000000.00007"));
  std::filesystem::remove(path("commits"));
  const RepairReport report = must_repair();
  EXPECT_EQ(report.steps.size(), 4U);
  ASSERT_EQ(report.unrepaired.size(), 1U);
  EXPECT_TRUE(message_contains(report.unrepaired[0], "data-000000.00007"));
  expect_valid(4);
}

TEST_F(RepairTest, indexes_around_unreadable_bytes_are_found) {
  write_steps(2);
  const DataFileName name = {0, 0};
  const auto first = open()->step(10).value()->files()[0].entry.index;
  for (const std::uint64_t bad : {kPageBytes, first.offset}) {
    storage::FaultyFile file(storage::must_open(path(to_string(name))), {.bad_offset = bad});
    std::vector<std::uint64_t> found;
    int failures = 0;
    ASSERT_TRUE(scan_indexes(
        file, name,
        {.on_bytes_read = [](std::uint64_t) { return true; },
         .should_decode = [](const IndexHeader&) { return true; },
         .on_index = [&](const Index& index) { found.push_back(index.header().id.step); },
         .on_error = [&](const Error&) { ++failures; }}));
    const std::vector<std::uint64_t> both = {10, 20};
    EXPECT_EQ(found, bad == kPageBytes ? both : std::vector<std::uint64_t>{20});
    EXPECT_EQ(failures, 1);
  }
}

TEST_F(RepairTest, only_a_damaged_header_is_rewritten) {
  write_steps(2);
  const std::string before = file_content("data-000000.00001");
  flip_byte("data-000000.00001", 33);
  const RepairReport report = must_repair();
  ASSERT_EQ(report.rewritten_paths.size(), 1U);
  EXPECT_EQ(report.errors.size(), 1U);
  EXPECT_EQ(file_content("data-000000.00001"), before);
  expect_valid(2);
}

TEST_F(RepairTest, data_are_never_modified) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  write_steps(2);
  const std::string data = file_content("data-000000.00000");
  const std::string commits = file_content("commits");
  for (int i = 0; i < 50; ++i) {
    for (int flips = 0; flips < 6; ++flips)
      flip_bit("commits", random() % (kSlotsBytes * 8));
    must_repair();
    ASSERT_EQ(file_content("data-000000.00000"), data);
    expect_valid(2);
  }
}

TEST_F(RepairTest, progress_is_reported_in_two_passes) {
  write_steps(3);
  std::filesystem::remove(path("commits"));
  std::vector<ReadProgress> last;
  ASSERT_TRUE(plan_repair(path(), [&](const ReadProgress& now) {
    if (last.size() == now.pass) last.emplace_back();
    last.at(now.pass) = now;
    return true;
  }));
  ASSERT_EQ(last.size(), 2U);
  EXPECT_GT(last[0].done_bytes, 0U);
  EXPECT_LE(last[0].done_bytes, last[0].total_bytes);
  EXPECT_GT(last[1].done_bytes, 0U);
  EXPECT_EQ(last[1].done_bytes, last[1].total_bytes);
}

TEST_F(RepairTest, cancelled_repair_writes_nothing) {
  write_steps(3);
  std::filesystem::remove(path("commits"));
  for (std::uint32_t pass = 0; pass < 2; ++pass) {
    const auto plan =
        plan_repair(path(), [&](const ReadProgress& now) { return now.pass != pass; });
    EXPECT_EQ(error_class(plan), ErrorClass::kCancelled);
    EXPECT_FALSE(std::filesystem::exists(path("commits")));
  }
}

TEST_F(RepairTest, data_without_any_index_are_not_found) {
  std::filesystem::create_directories(path());
  std::ofstream(path("data-000000.00000")) << "something else";
  EXPECT_EQ(error_class(plan_repair(path())), ErrorClass::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path("commits")));
}

TEST_F(RepairTest, directory_without_dataset_is_not_found) {
  EXPECT_EQ(error_class(plan_repair(path())), ErrorClass::kNotFound);
  std::filesystem::create_directories(path());
  const auto plan = plan_repair(path());
  ASSERT_EQ(error_class(plan), ErrorClass::kNotFound);
  EXPECT_TRUE(message_contains(plan.error(), "not a dataset")) << plan.error().message();
  EXPECT_TRUE(std::filesystem::is_empty(path()));
}

}  // namespace
}  // namespace forebay::format
