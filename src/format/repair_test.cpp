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

using Fate = RepairedStep::Fate;

class RepairTest : public DatasetTest {
 protected:
  void write_steps(std::uint64_t count) {
    TestWriter writer(path(), test_dataset(), 2);
    for (std::uint64_t step = 1; step <= count; ++step)
      writer.write(test_step(step * 10, 5, 2));
    state_ = writer.state();
  }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// As write::repair(), which is above this module, but for its lease and its fence.
  static void carry_out(const RepairPlan& plan, const std::string& commits) {
    const storage::OpenOptions create{.intent = storage::Intent::kCreate};
    for (const NewHeader& header : plan.headers)
      ASSERT_TRUE(storage::must_open(header.path, create)->write_at(header.page, 0));
    for (const CommitPlan& generation : plan.generations)
      for (const CommitWrite& write : generation.writes)
        ASSERT_TRUE(storage::must_open(commits, create)->write_at(write.bytes, write.offset));
  }
  RepairReport must_repair() {
    auto plan = plan_repair(path());
    EXPECT_TRUE(plan) << plan.error().message();
    if (!plan) return {};
    carry_out(*plan, path("commits"));
    return std::move(plan->report);
  }
  void expect_whole(std::size_t steps) {
    const auto report = verify(path());
    ASSERT_TRUE(report) << report.error().message();
    for (const Finding& finding : report->findings)
      ADD_FAILURE() << finding.error.message();
    EXPECT_EQ(report->steps, steps);
  }

  CommitsState state_;
};

TEST_F(RepairTest, leaves_a_whole_dataset_alone) {
  write_steps(3);
  const std::string before = content("commits");
  const RepairReport report = must_repair();
  EXPECT_TRUE(report.rewritten.empty());
  EXPECT_TRUE(report.damages.empty());
  EXPECT_EQ(content("commits"), before);
  ASSERT_EQ(report.steps.size(), 3U);
  EXPECT_EQ(report.steps[0].fate, Fate::kKept);
}

TEST_F(RepairTest, makes_commits_anew_when_they_are_gone) {
  write_steps(5);
  const std::vector<StepEntry> before = open()->commits().steps;
  std::filesystem::remove(path("commits"));
  EXPECT_EQ(plan_repair(path())->report.rewritten.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(path("commits")));
  const RepairReport report = must_repair();
  ASSERT_EQ(report.steps.size(), 5U);
  for (const RepairedStep& step : report.steps)
    EXPECT_EQ(step.fate, Fate::kRecovered) << step.why;
  expect_whole(5);
  const auto catalog = open();
  EXPECT_EQ(catalog->commits().steps, before);
  EXPECT_EQ(catalog->dataset(), test_dataset());
}

TEST_F(RepairTest, writes_a_torn_slot_anew_and_brings_its_step_back) {
  write_steps(4);
  flip("commits", state_.generation % 2 * kPageBytes + 300);
  EXPECT_EQ(open()->steps().size(), 3U);
  const RepairReport report = must_repair();
  ASSERT_EQ(report.steps.size(), 4U);
  EXPECT_EQ(report.steps[2].fate, Fate::kKept);
  EXPECT_EQ(report.steps[3].fate, Fate::kRecovered);
  expect_whole(4);
}

TEST_F(RepairTest, of_an_only_step_whose_slot_was_zeroed_brings_it_back) {
  write_steps(1);
  fill_with_zeros("commits", {kPageBytes, kPageBytes});
  const RepairReport report = must_repair();
  EXPECT_EQ(report.damages.size(), 1U);
  ASSERT_EQ(report.steps.size(), 1U);
  EXPECT_EQ(report.steps[0].fate, Fate::kRecovered);
  expect_whole(1);
}

TEST_F(RepairTest, leaves_a_new_dataset_alone) {
  const TestWriter writer(path(), test_dataset());
  const std::string before = content("commits");
  EXPECT_TRUE(must_repair().rewritten.empty());
  EXPECT_EQ(content("commits"), before);
}

TEST_F(RepairTest, does_not_bring_back_steps_whose_data_are_not_whole) {
  write_steps(4);
  const auto step = open()->step(40).value();
  const std::uint64_t data = step->block(step->find_part("velocity", 3).value()).offset;
  flip("data-000001.00001", data);
  std::filesystem::remove(path("data-000000.00000"));
  std::filesystem::remove(path("commits"));
  const RepairReport report = must_repair();
  ASSERT_EQ(report.steps.size(), 4U);
  EXPECT_EQ(report.steps[0].fate, Fate::kDamaged);
  EXPECT_NE(report.steps[0].why.find("1 of its 2 files"), std::string::npos);
  EXPECT_EQ(report.steps[1].fate, Fate::kDamaged);
  EXPECT_EQ(report.steps[2].fate, Fate::kRecovered);
  EXPECT_EQ(report.steps[3].fate, Fate::kDamaged);
  EXPECT_NE(report.steps[3].why.find("field velocity, part 3"), std::string::npos)
      << report.steps[3].why;
  expect_whole(1);
}

TEST_F(RepairTest, keeps_dropped_steps_dropped_while_a_slot_tells_of_it) {
  TestWriter writer(path(), test_dataset(), 4);
  for (std::uint64_t step = 1; step <= 4; ++step)
    writer.write(test_step(step, 3, 1));
  writer.drop_before(3);
  flip("commits", (writer.state().generation + 1) % 2 * kPageBytes + 9);
  const RepairReport report = must_repair();
  EXPECT_EQ(report.steps.size(), 2U);
  expect_whole(2);
}

/// As a writer with keep=2 leaves it, when the slot that told of the last drop is gone.
TEST_F(RepairTest, leaves_out_steps_that_were_dropped_after_the_slot_that_is_left) {
  TestWriter writer(path(), test_dataset());
  for (std::uint64_t step = 1; step <= 3; ++step)
    writer.write(test_step(step, 3, 2));
  writer.drop_before(2);
  std::filesystem::remove(path("data-000000.00000"));
  std::filesystem::remove(path("data-000000.00001"));
  fill_with_zeros("commits", {writer.state().generation % 2 * kPageBytes, kPageBytes});
  EXPECT_EQ(open()->steps().size(), 3U);
  const RepairReport report = must_repair();
  ASSERT_EQ(report.steps.size(), 3U);
  EXPECT_EQ(report.steps[0].fate, Fate::kDropped);
  EXPECT_EQ(report.steps[1].fate, Fate::kKept);
  EXPECT_TRUE(report.remaining.empty());
  EXPECT_EQ(open()->commits().state.first_step, 2U);
  expect_whole(2);
}

TEST_F(RepairTest, tells_files_of_kept_steps_that_are_lost_or_damaged) {
  write_steps(4);  // two in a group
  std::filesystem::remove(path("data-000000.00001"));
  const auto step = open()->step(30).value();
  flip("data-000001.00000", step->files()[0].entry.index.offset + 50);
  const auto expect_remaining = [&](const RepairReport& report) {
    ASSERT_EQ(report.remaining.size(), 2U);
    EXPECT_TRUE(mentions(report.remaining[0], "data-000000.00001"));
    EXPECT_TRUE(mentions(report.remaining[1], "step 30"));
    EXPECT_GE(report.damages.size(), report.remaining.size());
  };
  expect_remaining(must_repair());
  flip("commits", (state_.generation + 1) % 2 * kPageBytes + 9);
  expect_remaining(must_repair());
  EXPECT_EQ(open()->steps().size(), 4U);
}

TEST_F(RepairTest, takes_no_step_for_dropped_while_the_newest_slot_tells_of_it) {
  write_steps(4);
  std::filesystem::remove(path("data-000000.00000"));
  std::filesystem::remove(path("data-000000.00001"));
  EXPECT_EQ(must_repair().remaining.size(), 2U);
  EXPECT_EQ(open()->steps().size(), 4U);
}

TEST_F(RepairTest, leaves_files_alone_that_were_exchanged) {
  write_steps(4);
  const std::string first = content("data-000000.00000");
  const std::string second = content("data-000001.00000");
  std::filesystem::rename(path("data-000000.00000"), path("kept"));
  std::filesystem::rename(path("data-000001.00000"), path("data-000000.00000"));
  std::filesystem::rename(path("kept"), path("data-000001.00000"));
  const RepairReport report = must_repair();
  EXPECT_TRUE(report.rewritten.empty());
  EXPECT_TRUE(std::ranges::any_of(report.remaining, [&](const Error& error) {
    return error.path() == path("data-000000.00000") && mentions(error, "data-000001.00000");
  }));
  EXPECT_EQ(content("data-000001.00000"), first);
  EXPECT_EQ(content("data-000000.00000"), second);
}

TEST_F(RepairTest, writes_the_header_anew_that_an_older_file_left) {
  write_steps(2);
  const HeaderPage old = encode_header({test_dataset(), {17, 3}});
  ASSERT_TRUE(storage::must_open(path("data-000000.00000"), {.intent = storage::Intent::kWrite})
                  ->write_at(old, 0));
  const RepairReport report = must_repair();
  EXPECT_EQ(report.rewritten.size(), 1U);
  EXPECT_TRUE(report.remaining.empty());
  expect_whole(2);
}

TEST_F(RepairTest, goes_on_where_a_data_file_cannot_be_read) {
  write_steps(4);
  std::filesystem::create_directory(path("data-000000.00007"));
  std::filesystem::remove(path("commits"));
  const RepairReport report = must_repair();
  EXPECT_EQ(report.steps.size(), 4U);
  ASSERT_EQ(report.remaining.size(), 1U);
  EXPECT_TRUE(mentions(report.remaining[0], "data-000000.00007"));
  expect_whole(4);
}

TEST_F(RepairTest, finds_indexes_around_bytes_that_cannot_be_read) {
  write_steps(2);
  const DataFileName name = {0, 0};
  const auto first = open()->step(10).value()->files()[0].entry.index;
  for (const std::uint64_t bad : {kPageBytes, first.offset}) {
    storage::FaultyFile file(storage::must_open(path(text_of(name))), {.bad_offset = bad});
    std::vector<std::uint64_t> found;
    int failures = 0;
    ASSERT_TRUE(scan_indexes(
        file, name,
        {.has_read = [](std::uint64_t) { return true; },
         .is_wanted = [](const IndexHead&) { return true; },
         .found = [&](const Index& index) { found.push_back(index.head().place.step); },
         .failed = [&](const Error&) { ++failures; }}));
    const std::vector<std::uint64_t> both = {10, 20};
    EXPECT_EQ(found, bad == kPageBytes ? both : std::vector<std::uint64_t>{20});
    EXPECT_EQ(failures, 1);
  }
}

TEST_F(RepairTest, writes_a_damaged_header_anew_and_nothing_else) {
  write_steps(2);
  const std::string before = content("data-000000.00001");
  flip("data-000000.00001", 33);
  const RepairReport report = must_repair();
  ASSERT_EQ(report.rewritten.size(), 1U);
  EXPECT_EQ(report.damages.size(), 1U);
  EXPECT_EQ(content("data-000000.00001"), before);
  expect_whole(2);
}

TEST_F(RepairTest, never_touches_data_whatever_was_flipped) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  write_steps(2);
  const std::string data = content("data-000000.00000");
  const std::string commits = content("commits");
  for (int i = 0; i < 50; ++i) {
    for (int flips = 0; flips < 6; ++flips)
      flip_bit("commits", random() % (kSlotsBytes * 8));
    must_repair();
    ASSERT_EQ(content("data-000000.00000"), data);
    expect_whole(2);
  }
}

TEST_F(RepairTest, tells_how_far_it_is_in_two_passes) {
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
  EXPECT_LE(last[0].done_bytes, last[0].all_bytes);
  EXPECT_GT(last[1].done_bytes, 0U);
  EXPECT_EQ(last[1].done_bytes, last[1].all_bytes);
}

TEST_F(RepairTest, that_is_cancelled_in_either_pass_writes_nothing) {
  write_steps(3);
  std::filesystem::remove(path("commits"));
  for (std::uint32_t pass = 0; pass < 2; ++pass) {
    const auto plan =
        plan_repair(path(), [&](const ReadProgress& now) { return now.pass != pass; });
    EXPECT_EQ(error_class(plan), ErrorClass::kCancelled);
    EXPECT_FALSE(std::filesystem::exists(path("commits")));
  }
}

TEST_F(RepairTest, of_data_without_any_index_says_so) {
  std::filesystem::create_directories(path());
  std::ofstream(path("data-000000.00000")) << "something else";
  EXPECT_EQ(error_class(plan_repair(path())), ErrorClass::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path("commits")));
}

TEST_F(RepairTest, of_what_is_no_dataset_says_so) {
  EXPECT_EQ(error_class(plan_repair(path())), ErrorClass::kNotFound);
  std::filesystem::create_directories(path());
  const auto plan = plan_repair(path());
  ASSERT_EQ(error_class(plan), ErrorClass::kNotFound);
  EXPECT_TRUE(mentions(plan.error(), "no dataset")) << plan.error().message();
  EXPECT_TRUE(std::filesystem::is_empty(path()));
}

}  // namespace
}  // namespace forebay::format
