// SPDX-License-Identifier: Apache-2.0
// A step is there when its publish() has succeeded, and whatever fails, what was there before is.
#include "write/publisher.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "format/commits_file.hpp"
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

/// What a reader finds.
std::vector<std::uint64_t> steps_in(const std::string& folder) {
  const auto file = storage::must_open(folder + "/commits");
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

TEST(Publisher, makes_a_dataset_and_finds_it_again) {
  const TemporaryFolder parent;
  const std::string folder = parent / "run.fb";
  format::DatasetId dataset;
  {
    const auto made = Publisher::open(folder);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ((*made)->generation(), 0U);
    EXPECT_TRUE((*made)->steps().empty());
    dataset = (*made)->dataset();
    ASSERT_TRUE((*made)->publish(entry_of(3)));
    ASSERT_TRUE((*made)->publish(entry_of(7, 4)));
  }
  const auto found = Publisher::open(folder);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->dataset(), dataset);
  EXPECT_EQ((*found)->generation(), 2U);
  EXPECT_EQ((*found)->steps(), (std::vector{entry_of(3), entry_of(7, 4)}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(Publisher, hundreds_of_steps_are_published_dropped_and_read_back) {
  const TemporaryFolder folder;
  Steps wanted;
  {
    const auto publisher = Publisher::open(folder.path());
    ASSERT_TRUE(publisher);
    for (std::uint64_t step = 0; step < 600; ++step) {
      ASSERT_TRUE((*publisher)->publish(entry_of(step, 1 + step % 3)));
      if (step >= 100) wanted.push_back(step);
    }
    ASSERT_TRUE((*publisher)->drop_before(100));
    EXPECT_EQ((*publisher)->steps().size(), 500U);
  }
  EXPECT_EQ(steps_in(folder.path()), wanted);
}

TEST(Publisher, a_step_that_does_not_rise_is_refused_and_changes_nothing) {
  const TemporaryFolder folder;
  const auto publisher = Publisher::open(folder.path());
  ASSERT_TRUE(publisher);
  ASSERT_TRUE((*publisher)->publish(entry_of(5)));
  const Status refused = (*publisher)->publish(entry_of(5));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ((*publisher)->generation(), 1U);
}

TEST(Publisher, a_file_in_which_nothing_is_in_force_is_damage_and_stays) {
  const TemporaryFolder folder;
  storage::write_pattern_file(folder / "commits", 8192);
  const auto publisher = Publisher::open(folder.path());
  ASSERT_FALSE(publisher);
  EXPECT_EQ(publisher.error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(std::filesystem::file_size(folder / "commits"), 8192U);
}

TEST(Publisher, of_a_folder_with_data_and_no_commits_asks_for_repair) {
  const TemporaryFolder folder;
  storage::write_pattern_file(folder / "data-000001.00000", format::kPageBytes + 1);
  const auto publisher = Publisher::open(folder.path());
  ASSERT_EQ(error_class(publisher), ErrorClass::kDamage);
  EXPECT_NE(publisher.error().cause().find("forebay repair"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "commits"));
}

TEST(Publisher, that_has_lost_steps_asks_for_repair) {
  const TemporaryFolder folder;
  std::uint64_t past = 0;
  {
    const auto publisher = Publisher::open(folder.path());
    ASSERT_TRUE(publisher);
    for (std::uint64_t step = 0; step < 600; ++step)
      ASSERT_TRUE((*publisher)->publish(entry_of(step, 1)));
    EXPECT_TRUE((*publisher)->may_remove_others());
    const auto file = storage::must_open(folder / "commits");
    const auto loaded = format::load_commits(*file);
    ASSERT_FALSE(loaded->state.past.empty());
    past = loaded->state.past.front().reference.offset;
  }
  flip_byte(folder / "commits", past + 70);
  const auto publisher = Publisher::open(folder.path());
  ASSERT_EQ(error_class(publisher), ErrorClass::kDamage);
  EXPECT_NE(publisher.error().cause().find("forebay repair"), std::string::npos);
}

TEST(Publisher, touches_no_files_of_others_where_a_slot_is_damaged_or_no_step_was_ever_there) {
  const TemporaryFolder folder;
  {
    const auto publisher = Publisher::open(folder.path());
    ASSERT_TRUE(publisher);
    EXPECT_FALSE((*publisher)->may_remove_others());
    for (std::uint64_t step = 0; step < 3; ++step)
      ASSERT_TRUE((*publisher)->publish(entry_of(step)));
  }
  flip_byte(folder / "commits", 3 % 2 * format::kPageBytes + 9);  // the newest of three
  const auto publisher = Publisher::open(folder.path());
  ASSERT_TRUE(publisher) << publisher.error().message();
  EXPECT_EQ((*publisher)->steps().size(), 2U);
  EXPECT_FALSE((*publisher)->may_remove_others());
}

/// Fails at a sync, as often as it is told to, and has no room behind an end.
class LosingFile final : public storage::File {
 public:
  LosingFile(std::unique_ptr<File> inner, int& failures, const std::uint64_t& end = all)
      : inner_(std::move(inner)), failures_(failures), end_(end) {}
  const std::string& path() const noexcept override { return inner_->path(); }
  storage::FileSystem file_system() const noexcept override { return inner_->file_system(); }
  Access access() const noexcept override { return inner_->access(); }
  std::size_t alignment_bytes() const noexcept override { return 1; }
  int descriptor() const noexcept override { return -1; }
  Result<std::uint64_t> size() const override { return inner_->size(); }
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset) override {
    return inner_->read_at(into, offset);
  }
  Result<std::size_t> write_at(std::span<const std::byte> from, std::uint64_t offset) override {
    if (offset + from.size() > end_)
      return failure(system_error({.operation = "write", .path = path()}, ENOSPC));
    return inner_->write_at(from, offset);
  }
  Status sync() override {
    if (failures_ == 0) return inner_->sync();
    --failures_;
    return failure(system_error({.operation = "sync", .path = path()}, EIO));
  }
  Status allocate(ByteRange range) override { return inner_->allocate(range); }
  Status truncate(std::uint64_t size_bytes) override { return inner_->truncate(size_bytes); }
  std::optional<double> cached_fraction(ByteRange /*range*/) const override { return {}; }

 private:
  std::unique_ptr<File> inner_;
  int& failures_;
  const std::uint64_t& end_;  ///< no room from here on
};

TEST(Publisher, after_a_sync_that_failed_the_step_before_is_in_force_and_the_next_one_goes_on) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Publisher::open(folder.path()));
  int failures = 0;
  auto file = storage::must_open(folder / "commits", {.intent = storage::Intent::kWrite});
  const auto publisher =
      Publisher::open_on(std::make_unique<LosingFile>(std::move(file), failures));
  ASSERT_TRUE(publisher);
  ASSERT_TRUE((*publisher)->publish(entry_of(1)));
  failures = 1;
  const Status failed = (*publisher)->publish(entry_of(2));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().error_number(), EIO);
  EXPECT_EQ(steps_in(folder.path()), (Steps{1}));
  ASSERT_TRUE((*publisher)->publish(entry_of(3)));
  EXPECT_EQ(steps_in(folder.path()), (Steps{1, 3}));
}

TEST(Publisher, a_disk_that_is_full_leaves_what_was_there) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Publisher::open(folder.path()));
  int failures = 0;
  std::uint64_t end = all;
  auto file = storage::must_open(folder / "commits", {.intent = storage::Intent::kWrite});
  const auto publisher =
      Publisher::open_on(std::make_unique<LosingFile>(std::move(file), failures, end));
  ASSERT_TRUE(publisher);
  ASSERT_TRUE((*publisher)->publish(entry_of(1)));
  end = format::kSlotsBytes;  // a step with so many files has its table behind the slots
  const Status failed = (*publisher)->publish(entry_of(2, 400));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind(), ErrorClass::kNoSpace);
  EXPECT_EQ(steps_in(folder.path()), (Steps{1}));
  end = all;
  ASSERT_TRUE((*publisher)->publish(entry_of(2, 400)));
  EXPECT_EQ(steps_in(folder.path()), (Steps{1, 2}));
}

}  // namespace
}  // namespace forebay::write
