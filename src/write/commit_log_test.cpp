// SPDX-License-Identifier: Apache-2.0
// A step is published once its publish() has succeeded. After any failure the previous steps stay.
#include "write/commit_log.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "format/load_commits.hpp"
#include "storage/file_decorator.hpp"
#include "storage/testing.hpp"

namespace forebay::write {
namespace {

format::StepEntry entry_of(std::uint64_t step, std::uint64_t files = 1) {
  format::StepEntry entry{.step = step, .group = step, .raw_bytes = 100, .stored_bytes = 100};
  for (std::uint32_t file = 0; file < files; ++file)
    entry.files.push_back(
        {.file = file, .index = {.offset = 4096, .bytes = 200, .checksum = step}});
  return entry;
}

/// The steps that a reader finds.
std::vector<std::uint64_t> steps_in(const std::string& directory) {
  const auto file = storage::must_open(directory + "/commits");
  const auto loaded = format::load_commits(*file);
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message());
  std::vector<std::uint64_t> steps;
  for (const format::StepEntry& step : loaded->steps)
    steps.push_back(step.step);
  return steps;
}
using Steps = std::vector<std::uint64_t>;

void flip_byte(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
  EXPECT_TRUE(file.flush());
}

TEST(CommitLog, open_creates_dataset_and_reopens_it) {
  const TemporaryDirectory parent;
  const std::string directory = parent / "run.fb";
  format::DatasetId dataset;
  {
    const auto made = CommitLog::open(directory);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ((*made)->generation(), 0U);
    EXPECT_TRUE((*made)->steps().empty());
    dataset = (*made)->dataset();
    ASSERT_TRUE((*made)->publish(entry_of(3)));
    ASSERT_TRUE((*made)->publish(entry_of(7, 4)));
  }
  const auto found = CommitLog::open(directory);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->dataset(), dataset);
  EXPECT_EQ((*found)->generation(), 2U);
  EXPECT_EQ((*found)->steps(), (std::vector{entry_of(3), entry_of(7, 4)}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 1);
}

TEST(CommitLog, many_steps_are_published_dropped_and_read_back) {
  const TemporaryDirectory directory;
  Steps wanted;
  {
    const auto commit_log = CommitLog::open(directory.path());
    ASSERT_TRUE(commit_log);
    for (std::uint64_t step = 0; step < 600; ++step) {
      ASSERT_TRUE((*commit_log)->publish(entry_of(step, 1 + step % 3)));
      if (step >= 100) wanted.push_back(step);
    }
    ASSERT_TRUE((*commit_log)->drop_before(100));
    EXPECT_EQ((*commit_log)->steps().size(), 500U);
  }
  EXPECT_EQ(steps_in(directory.path()), wanted);
}

TEST(CommitLog, step_number_not_rising_is_refused) {
  const TemporaryDirectory directory;
  const auto commit_log = CommitLog::open(directory.path());
  ASSERT_TRUE(commit_log);
  ASSERT_TRUE((*commit_log)->publish(entry_of(5)));
  const Status refused = (*commit_log)->publish(entry_of(5));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ((*commit_log)->generation(), 1U);
}

TEST(CommitLog, file_without_valid_generation_is_damage_and_unchanged) {
  const TemporaryDirectory directory;
  storage::write_pattern_file(directory / "commits", 8192);
  const auto commit_log = CommitLog::open(directory.path());
  ASSERT_FALSE(commit_log);
  EXPECT_EQ(commit_log.error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(std::filesystem::file_size(directory / "commits"), 8192U);
}

TEST(CommitLog, data_files_without_commits_require_repair) {
  const TemporaryDirectory directory;
  storage::write_pattern_file(directory / "data-000001.00000", format::kPageBytes + 1);
  const auto commit_log = CommitLog::open(directory.path());
  ASSERT_EQ(error_class(commit_log), ErrorClass::kDamage);
  EXPECT_NE(commit_log.error().cause().find("forebay repair"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory / "commits"));
}

TEST(CommitLog, lost_steps_require_repair) {
  const TemporaryDirectory directory;
  std::uint64_t past = 0;
  {
    const auto commit_log = CommitLog::open(directory.path());
    ASSERT_TRUE(commit_log);
    for (std::uint64_t step = 0; step < 600; ++step)
      ASSERT_TRUE((*commit_log)->publish(entry_of(step, 1)));
    EXPECT_TRUE((*commit_log)->can_collect_garbage());
    const auto file = storage::must_open(directory / "commits");
    const auto loaded = format::load_commits(*file);
    ASSERT_FALSE(loaded->state.history.empty());
    past = loaded->state.history.front().reference.offset;
  }
  flip_byte(directory / "commits", past + 70);
  const auto commit_log = CommitLog::open(directory.path());
  ASSERT_EQ(error_class(commit_log), ErrorClass::kDamage);
  EXPECT_NE(commit_log.error().cause().find("forebay repair"), std::string::npos);
}

TEST(CommitLog, damaged_or_empty_log_forbids_garbage_collection) {
  const TemporaryDirectory directory;
  {
    const auto commit_log = CommitLog::open(directory.path());
    ASSERT_TRUE(commit_log);
    EXPECT_FALSE((*commit_log)->can_collect_garbage());
    for (std::uint64_t step = 0; step < 3; ++step)
      ASSERT_TRUE((*commit_log)->publish(entry_of(step)));
  }
  flip_byte(directory / "commits", 3 % 2 * format::kPageBytes + 9);  // the newest of three
  const auto commit_log = CommitLog::open(directory.path());
  ASSERT_TRUE(commit_log) << commit_log.error().message();
  EXPECT_EQ((*commit_log)->steps().size(), 2U);
  EXPECT_FALSE((*commit_log)->can_collect_garbage());
}

/// Fails a number of syncs, and has no space beyond an end.
class FaultyFile final : public storage::FileDecorator {
 public:
  FaultyFile(std::unique_ptr<File> inner, int& failures, const std::uint64_t& end = kAll)
      : FileDecorator(std::move(inner)), failures_(failures), end_(end) {}
  Result<std::size_t> write_at(std::span<const std::byte> from, std::uint64_t offset) override {
    if (offset + from.size() > end_)
      return failure(system_error({.operation = "write", .path = path()}, ENOSPC));
    return FileDecorator::write_at(from, offset);
  }
  Status sync() override {
    if (failures_ == 0) return FileDecorator::sync();
    --failures_;
    return failure(system_error({.operation = "sync", .path = path()}, EIO));
  }

 private:
  int& failures_;
  const std::uint64_t& end_;  ///< no space from here on
};

TEST(CommitLog, failed_sync_keeps_previous_step_and_next_succeeds) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(CommitLog::open(directory.path()));
  int failures = 0;
  auto file = storage::must_open(directory / "commits", {.intent = storage::Intent::kWrite});
  const auto commit_log =
      CommitLog::open_with_file(std::make_unique<FaultyFile>(std::move(file), failures));
  ASSERT_TRUE(commit_log);
  ASSERT_TRUE((*commit_log)->publish(entry_of(1)));
  failures = 1;
  const Status failed = (*commit_log)->publish(entry_of(2));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().error_number(), EIO);
  EXPECT_EQ(steps_in(directory.path()), (Steps{1}));
  ASSERT_TRUE((*commit_log)->publish(entry_of(3)));
  EXPECT_EQ(steps_in(directory.path()), (Steps{1, 3}));
}

// The coordinator once removed the files of such a step, which a valid slot may still list.
TEST(CommitLog, step_is_in_doubt_if_its_slot_cannot_be_overwritten) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(CommitLog::open(directory.path()));
  int failures = 0;
  auto file = storage::must_open(directory / "commits", {.intent = storage::Intent::kWrite});
  const auto commit_log =
      CommitLog::open_with_file(std::make_unique<FaultyFile>(std::move(file), failures));
  ASSERT_TRUE(commit_log);
  failures = 1;
  EXPECT_FALSE((*commit_log)->publish(entry_of(1)));
  EXPECT_FALSE((*commit_log)->is_in_doubt()) << "the second sync overwrote the slot";
  failures = 2;
  EXPECT_FALSE((*commit_log)->publish(entry_of(2)));
  EXPECT_TRUE((*commit_log)->is_in_doubt());
  EXPECT_FALSE((*commit_log)->is_replaced());
  ASSERT_TRUE((*commit_log)->publish(entry_of(3)));
  EXPECT_FALSE((*commit_log)->is_in_doubt());
  EXPECT_EQ(steps_in(directory.path()), (Steps{3}));
}

TEST(CommitLog, full_disk_keeps_previous_steps) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(CommitLog::open(directory.path()));
  int failures = 0;
  std::uint64_t end = kAll;
  auto file = storage::must_open(directory / "commits", {.intent = storage::Intent::kWrite});
  const auto commit_log =
      CommitLog::open_with_file(std::make_unique<FaultyFile>(std::move(file), failures, end));
  ASSERT_TRUE(commit_log);
  ASSERT_TRUE((*commit_log)->publish(entry_of(1)));
  end = format::kSlotsBytes;  // a step with this many files has its table behind the slots
  const Status failed = (*commit_log)->publish(entry_of(2, 400));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind(), ErrorClass::kNoSpace);
  EXPECT_EQ(steps_in(directory.path()), (Steps{1}));
  end = kAll;
  ASSERT_TRUE((*commit_log)->publish(entry_of(2, 400)));
  EXPECT_EQ(steps_in(directory.path()), (Steps{1, 2}));
}

}  // namespace
}  // namespace forebay::write
