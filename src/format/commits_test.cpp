// SPDX-License-Identifier: Apache-2.0
// Generations as planned, written and read back: if anything of a new one is missing or wrong, the
// preceding one is valid.
#include "format/commits.hpp"

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "format/checksum.hpp"
#include "format/load_commits.hpp"
#include "format/step_table.hpp"
#include "storage/memory_file.hpp"

namespace forebay::format {
namespace {

constexpr DatasetId kCommittedDataset = {std::byte{9}, std::byte{8}};

StepEntry make_entry(std::uint64_t step, std::uint32_t files = 1) {
  StepEntry entry = {.step = step,
                     .group = step,
                     .wall_ns = 5,
                     .raw_bytes = 10,
                     .stored_bytes = 10,
                     .writers = 2,
                     .strategy = 1};
  for (std::uint32_t file = 0; file < files; ++file)
    entry.files.push_back({file, {4096 * (step + 1), 200, step * 31 + file}});
  return entry;
}

/// `commits` in memory, with the generation that its writer assumes.
class CommitsFile {
 public:
  CommitsFile() : file_("run.fb/commits", {}) { write(plan_create(kCommittedDataset, 1)); }

  void write(const CommitPlan& plan) {
    for (const CommitWrite& write : plan.writes)
      ASSERT_TRUE(file_.write_at(write.bytes, write.offset));
    state_ = plan.new_state;
  }
  void commit(const StepEntry& step) { write(plan_commit(state_, step, 2).value()); }
  void drop_before(std::uint64_t step) { write(plan_drop(state_, step, 2).value()); }

  std::vector<std::byte> bytes() {
    std::vector<std::byte> content(file_.size().value());
    EXPECT_TRUE(file_.read_at(content, 0));
    return content;
  }
  void flip(std::uint64_t bit) {
    std::byte byte{};
    ASSERT_TRUE(file_.read_at({&byte, 1}, bit / 8));
    byte ^= std::byte{1} << (bit % 8);
    ASSERT_TRUE(file_.write_at({&byte, 1}, bit / 8));
  }
  Result<LoadedCommits> load() { return load_commits(file_); }
  storage::MemoryFile& file() { return file_; }
  const CommitsState& state() const { return state_; }

 private:
  storage::MemoryFile file_;
  CommitsState state_;
};

std::vector<std::uint64_t> step_numbers(std::span<const StepEntry> steps) {
  std::vector<std::uint64_t> result;
  for (const StepEntry& step : steps)
    result.push_back(step.step);
  return result;
}

TEST(CommitsFile, new_dataset_has_no_steps_and_no_damage) {
  CommitsFile commits;
  const auto loaded = commits.load();
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->state, commits.state());
  EXPECT_TRUE(loaded->steps.empty());
  EXPECT_TRUE(loaded->errors.empty());
}

TEST(CommitsFile, generations_are_read_as_planned_with_any_number_of_files) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  CommitsFile commits;
  std::vector<StepEntry> entries;
  std::uint64_t step = 0;
  for (int i = 0; i < 700; ++i) {
    step += 1 + random() % 3;
    entries.push_back(make_entry(step, static_cast<std::uint32_t>(1 + random() % 60)));
    commits.commit(entries.back());
    if (i % 50 == 0) {
      const std::uint64_t first = entries[random() % entries.size() / 2].step + 1;
      if (first >= commits.state().first_step) commits.drop_before(first);
    }
    std::erase_if(entries, [&](const StepEntry& e) { return e.step < commits.state().first_step; });
    const auto loaded = commits.load();
    ASSERT_TRUE(loaded) << loaded.error().message();
    ASSERT_EQ(loaded->state, commits.state());
    ASSERT_EQ(loaded->steps, entries);
    ASSERT_TRUE(loaded->errors.empty()) << loaded->errors[0].message();
    ASSERT_LE(loaded->state.table.size(), kTableStepsMax);
  }
  // Space is reused: three tables and the live history tables, not seven hundred tables.
  EXPECT_LT(commits.bytes().size(), 8U << 20U);
}

TEST(CommitsFile, partly_written_generation_leaves_the_preceding_one_valid) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  CommitsFile commits;
  for (std::uint64_t step = 1; step <= 600; ++step) {
    const auto plan = plan_commit(commits.state(), make_entry(step, 4), 3).value();
    const std::vector<std::byte> before = commits.bytes();
    // Each page of the new generation reaches the disk or is lost.
    storage::MemoryFile torn("run.fb/commits", before);
    std::uint64_t lost = 0;
    for (const CommitWrite& write : plan.writes) {
      for (std::uint64_t at = 0; at < write.bytes.size(); at += 512) {
        const std::uint64_t bytes = std::min<std::uint64_t>(512, write.bytes.size() - at);
        if (random() % 4 == 0) {
          ++lost;
          continue;
        }
        ASSERT_TRUE(torn.write_at(std::span(write.bytes).subspan(at, bytes), write.offset + at));
      }
    }
    const auto loaded = load_commits(torn);
    ASSERT_TRUE(loaded) << loaded.error().message();
    // Lost zeros that replace zeros have no effect.
    if (loaded->state.generation == plan.new_state.generation) {
      EXPECT_EQ(loaded->state, plan.new_state);
    } else {
      EXPECT_EQ(loaded->state, commits.state());
      EXPECT_GT(lost, 0U);
    }
    commits.write(plan);
  }
}

TEST(CommitsFile, flipped_bit_of_a_slot_is_reported_and_the_other_used) {
  CommitsFile commits;
  for (std::uint64_t step = 1; step <= 3; ++step)
    commits.commit(make_entry(step, 2));
  for (std::uint64_t bit = 0; bit < kSlotsBytes * 8; bit += 7) {
    commits.flip(bit);
    const auto loaded = commits.load();
    ASSERT_TRUE(loaded) << loaded.error().message();
    ASSERT_EQ(loaded->errors.size(), 1U) << "bit " << bit;
    const bool is_newest = bit / 8 / kPageBytes == 1;
    EXPECT_EQ(loaded->steps.size(), is_newest ? 2U : 3U);
    EXPECT_TRUE(message_contains(loaded->errors[0], is_newest ? "slot 1" : "slot 0"));
    commits.flip(bit);
  }
}

TEST(CommitsFile, no_valid_slot_is_damage) {
  CommitsFile commits;
  commits.commit(make_entry(1));
  commits.flip(100);
  commits.flip(kPageBytes * 8 + 100);
  EXPECT_EQ(error_class(commits.load()), ErrorClass::kDamage);
  storage::MemoryFile empty("run.fb/commits", {});
  EXPECT_EQ(error_class(load_commits(empty)), ErrorClass::kDamage);
}

TEST(CommitsFile, damaged_table_makes_the_preceding_generation_valid) {
  CommitsFile commits;
  for (std::uint64_t step = 1; step <= 5; ++step)
    commits.commit(make_entry(step, 200));
  ASSERT_FALSE(commits.state().table_range.empty());
  commits.flip((commits.state().table_range.offset + 77) * 8);
  const auto loaded = commits.load();
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(step_numbers(loaded->steps), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  ASSERT_EQ(loaded->errors.size(), 1U);
  EXPECT_EQ(loaded->errors[0].offset_bytes(), commits.state().table_range.offset);
}

TEST(CommitsFile, damaged_history_table_leaves_the_newest_steps) {
  CommitsFile commits;
  for (std::uint64_t step = 1; step <= 700; ++step)
    commits.commit(make_entry(step));
  ASSERT_GE(commits.state().history.size(), 2U);
  const HistoryTableRef newest = commits.state().history.front();
  commits.flip((newest.reference.offset + 500) * 8);
  const auto loaded = commits.load();
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->steps.back().step, 700U);
  EXPECT_EQ(loaded->steps.front().step, newest.last_step + 1);
  ASSERT_FALSE(loaded->errors.empty());
  EXPECT_TRUE(message_contains(loaded->errors[0], "history table"));
}

TEST(CommitsFile, can_be_read_during_publication) {
  CommitsFile commits;
  std::atomic<std::uint64_t> published = 0;
  std::jthread writer([&] {
    for (std::uint64_t step = 1; step <= 400; ++step) {
      commits.commit(make_entry(step, 150));
      published = step;
    }
  });
  while (published < 400) {
    const std::uint64_t before = published;
    const auto loaded = commits.load();
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_TRUE(loaded->errors.empty()) << loaded->errors[0].message();
    EXPECT_EQ(loaded->steps.size(), loaded->steps.empty() ? 0 : loaded->steps.back().step);
    EXPECT_GE(loaded->steps.size(), before);
  }
}

TEST(CommitsFile, newer_major_version_is_unsupported) {
  CommitsFile commits;
  commits.commit(make_entry(1));
  std::vector<std::byte> bytes = commits.bytes();
  bytes[8] = std::byte{2};
  const auto page = std::span(bytes).first(kPageBytes);
  EXPECT_EQ(error_class(decode_slot(page, 0, "c")), ErrorClass::kDamage);
  // The first 32 bytes and the place of the checksum are the same in all versions.
  const std::uint64_t checksum = metadata_checksum(kSlotMagic, page.first(kPageBytes - 8));
  std::memcpy(&page[kPageBytes - 8], &checksum, sizeof checksum);
  EXPECT_EQ(error_class(decode_slot(page, 0, "c")), ErrorClass::kUnsupported);
  storage::MemoryFile file("run.fb/commits", bytes);
  EXPECT_EQ(error_class(load_commits(file)), ErrorClass::kUnsupported);
}

TEST(CommitsFile, steps_that_do_not_rise_or_were_dropped_are_refused) {
  CommitsFile commits;
  commits.commit(make_entry(5));
  EXPECT_FALSE(plan_commit(commits.state(), make_entry(5), 1));
  EXPECT_FALSE(plan_commit(commits.state(), make_entry(6, 0), 1));
  StepEntry twice = make_entry(6, 2);
  twice.files[1].file = 0;
  EXPECT_FALSE(plan_commit(commits.state(), twice, 1));
  commits.drop_before(10);
  EXPECT_FALSE(plan_commit(commits.state(), make_entry(9), 1));
  EXPECT_FALSE(plan_drop(commits.state(), 9, 1));
  commits.commit(make_entry(10));
  EXPECT_EQ(step_numbers(commits.load()->steps), (std::vector<std::uint64_t>{10}));
}

TEST(CommitsFile, rebuilt_file_has_both_slots_and_all_steps) {
  CommitsFile commits;
  std::vector<StepEntry> steps;
  for (std::uint64_t step = 1; step <= 1000; ++step)
    steps.push_back(make_entry(step * 2, 3));
  commits.write(plan_rebuild(commits.state(), steps, 1));
  commits.write(plan_drop(commits.state(), 0, 1).value());
  const auto loaded = commits.load();
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->steps, steps);
  EXPECT_TRUE(loaded->errors.empty());
}

TEST(StepTable, is_read_back_equal_and_refused_when_truncated) {
  const std::vector<StepEntry> steps = {make_entry(1, 1), make_entry(5, 3), make_entry(9, 2)};
  const std::vector<std::byte> bytes = encode_steps(steps);
  EXPECT_EQ(bytes.size(), step_table_bytes(steps));
  EXPECT_EQ(decode_steps(bytes, 3, "c", 0).value(), steps);
  EXPECT_FALSE(decode_steps(bytes, 2, "c", 0));
  EXPECT_FALSE(decode_steps(bytes, 4, "c", 0));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_steps(std::span(bytes).first(size), 3, "c", 0)) << size;
}

}  // namespace
}  // namespace forebay::format
