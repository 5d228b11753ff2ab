// SPDX-License-Identifier: Apache-2.0
// Datasets on storage that fails: stalled, full, over quota, broken, read-only. The application is
// told in bounded time what it was and where, what was durable stays whole, and when storage works
// again so does the dataset.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "base/testing.hpp"
#include "cargo.hpp"
#include "read/testing.hpp"
#include "reading.hpp"
#include "storage/file.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/own_mounts.hpp"

namespace forebay::faults {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr auto kStepDeadline = std::chrono::milliseconds(1500);
constexpr auto kToldAfterMax = std::chrono::seconds(20);  ///< on a busy machine
const std::vector<double> kMebibyte(131'072, 1.5);

WritePlan small_plan(WhenFull when_full = WhenFull::kWait) {
  WritePlan plan{.strategy = Strategy::kSerial};
  plan.unit_bytes = 1_MiB;
  plan.memory_bytes = 2_MiB;
  plan.when_full = when_full;
  plan.deadline = kStepDeadline;
  return plan;
}

/// Puts parts of a mebibyte until one is refused.
Status fill(Step& step, std::uint64_t parts_max) {
  for (std::uint64_t part = 0; part < parts_max; ++part)
    if (Status put = step.put("large", Part{part}, std::span(kMebibyte)); !put) return put;
  return {};
}

/// Writes a step of so many mebibytes.
Result<Receipt> write_mebibytes(Dataset& dataset, std::uint64_t number, std::uint64_t count) {
  auto step = dataset.begin_step(number);
  if (!step) return failure(step.error());
  if (const Status put = fill(*step, count); !put) return failure(put.error());
  return step->commit().wait();
}

class OnBadStorage : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = reason_against_own_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  }
  /// With a first step, which must stay whole.
  void open(const std::string& path, const WritePlan& plan) {
    path_ = path;
    auto opened = runtime_->dataset(path, plan);
    ASSERT_TRUE(opened) << opened.error().message();
    dataset_ = std::make_unique<Dataset>(std::move(*opened));
    const auto first = write_step(*runtime_, *dataset_, cargo_, 1);
    ASSERT_TRUE(first) << first.error().message();
  }
  /// Storage works again: the next step is written, and all that is there is whole. The room of a
  /// step that failed comes back when its file is closed, which is after its failure was told.
  void expect_to_go_on(std::uint64_t number) {
    const auto give_up_at = steady_clock::now() + std::chrono::seconds(30);
    auto receipt = write_step(*runtime_, *dataset_, cargo_, number);
    while (error_class(receipt) == ErrorClass::kNoSpace && steady_clock::now() < give_up_at) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      receipt = write_step(*runtime_, *dataset_, cargo_, ++number);
    }
    EXPECT_TRUE(receipt) << receipt.error().message();
    std::ignore = dataset_->close();  // tells of the step that failed
    dataset_.reset();
    runtime_.reset();
    EXPECT_TRUE(is_whole(path_, cargo_, number));
  }

  std::string path_;
  const Cargo cargo_{11};
  std::unique_ptr<Runtime> runtime_ = std::make_unique<Runtime>();
  std::unique_ptr<Dataset> dataset_;
};

class OnEmulatedStorage : public OnBadStorage {
 protected:
  void SetUp() override {
    OnBadStorage::SetUp();
    if (IsSkipped()) return;
    storage_ = std::make_unique<EmulatedStorage>();
    if (!storage_->reason_against().empty()) GTEST_SKIP() << storage_->reason_against();
  }
  void TearDown() override {
    if (storage_ && storage_->reason_against().empty()) storage_->heal();
    dataset_.reset();
    runtime_.reset();
  }

  std::unique_ptr<EmulatedStorage> storage_;
};

// Every plan said that nothing was known of the storage.
TEST_F(OnEmulatedStorage, that_describes_itself_is_what_the_plan_is_made_for) {
  open(*storage_ / "run.fb", {});
  const std::string& reason = dataset_->plan().reason;
  EXPECT_NE(reason.find("storage as its file system says: local"), std::string::npos) << reason;
}

TEST_F(OnEmulatedStorage, that_stalls_a_full_pool_is_told_within_the_deadline) {
  open(*storage_ / "run.fb", small_plan());
  {
    const EmulatedStorage::Stall stall(*storage_);
    auto step = dataset_->begin_step(2);
    ASSERT_TRUE(step) << step.error().message();
    const auto begin = steady_clock::now();
    const Status put = fill(*step, 100);
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().kind(), ErrorClass::kLimit) << put.error().message();
    EXPECT_EQ(put.error().path(), path_) << put.error().message();
    const auto took = steady_clock::now() - begin;
    EXPECT_GE(took, kStepDeadline);
    EXPECT_LT(took, kToldAfterMax);
    const auto receipt = step->commit().wait();
    ASSERT_FALSE(receipt);
    EXPECT_EQ(receipt.error().message(), put.error().message());
  }
  expect_to_go_on(3);
}

TEST_F(OnEmulatedStorage, that_stalls_a_full_pool_is_told_at_once_where_the_plan_says_so) {
  WritePlan plan = small_plan(WhenFull::kFail);
  plan.deadline = std::chrono::minutes(5);
  open(*storage_ / "run.fb", plan);
  {
    const EmulatedStorage::Stall stall(*storage_);
    auto step = dataset_->begin_step(2);
    ASSERT_TRUE(step) << step.error().message();
    const auto begin = steady_clock::now();
    EXPECT_EQ(error_class(fill(*step, 100)), ErrorClass::kLimit);
    EXPECT_LT(steady_clock::now() - begin, kToldAfterMax);
    step->abandon();
  }
  // What is on its way to storage keeps its memory until it is there.
  std::uint64_t number = 2;
  EXPECT_TRUE(read::eventually([&] { return bool(write_mebibytes(*dataset_, ++number, 1)); }));
  EXPECT_EQ(dataset_->newest_step(), number);
}

TEST_F(OnEmulatedStorage, that_stalls_a_committed_step_fails_at_its_deadline) {
  WritePlan plan = small_plan();
  plan.deadline = 4 * kStepDeadline;  // a quarter of it, on a busy machine, to ask who is late
  open(*storage_ / "run.fb", plan);
  {
    const EmulatedStorage::Stall stall(*storage_);
    const auto begin = steady_clock::now();
    const auto receipt = write_mebibytes(*dataset_, 2, 1);
    ASSERT_FALSE(receipt);
    EXPECT_EQ(receipt.error().kind(), ErrorClass::kLimit) << receipt.error().message();
    EXPECT_THAT(receipt.error().message(), HasSubstr("not written and hashed yet are of ranks 0"));
    EXPECT_LT(steady_clock::now() - begin, kToldAfterMax);
  }
  expect_to_go_on(3);
}

TEST_F(OnEmulatedStorage, with_a_bad_place_names_the_file_and_the_next_step_goes_on) {
  open(*storage_ / "run.fb", small_plan());
  // Made ahead of the step, which is in its second file.
  const std::string name = "data-000001.00000";
  ASSERT_TRUE(read::eventually([&] { return std::filesystem::exists(path_ + "/" + name); }));
  storage_->break_writes("run.fb/" + name, 1_MiB);
  const auto receipt = write_mebibytes(*dataset_, 2, 4);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind(), ErrorClass::kIo) << receipt.error().message();
  EXPECT_EQ(receipt.error().error_number(), EIO) << receipt.error().message();
  EXPECT_EQ(receipt.error().path(), path_ + "/" + name);
  EXPECT_TRUE(receipt.error().offset_bytes().has_value()) << receipt.error().message();
  storage_->heal();
  expect_to_go_on(3);
}

TEST_F(OnEmulatedStorage, with_a_quota_that_is_used_up_says_so_and_the_next_step_goes_on) {
  open(*storage_ / "run.fb", small_plan());
  storage_->limit_files(2_MiB);
  const auto receipt = write_mebibytes(*dataset_, 2, 8);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind(), ErrorClass::kNoSpace) << receipt.error().message();
  EXPECT_EQ(receipt.error().error_number(), EDQUOT) << receipt.error().message();
  storage_->heal();
  expect_to_go_on(3);
}

TEST_F(OnBadStorage, that_is_full_says_so_and_smaller_steps_go_on) {
  const SmallMemory memory(16_MiB);
  open(memory.path() + "/run.fb", small_plan());
  const auto receipt = write_mebibytes(*dataset_, 2, 24);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind(), ErrorClass::kNoSpace) << receipt.error().message();
  EXPECT_EQ(receipt.error().error_number(), ENOSPC) << receipt.error().message();
  EXPECT_TRUE(mentions(receipt.error(), path_)) << receipt.error().message();
  EXPECT_TRUE(read::eventually([&] { return memory.free_bytes() > 12_MiB; }))
      << "what failed still takes room";
  expect_to_go_on(3);
}

/// There must be room to say who writes.
TEST_F(OnBadStorage, that_a_killed_writer_has_all_but_filled_is_written_again) {
  const SmallMemory memory(16_MiB);
  open(memory.path() + "/run.fb", small_plan());
  ASSERT_TRUE(dataset_->close());
  dataset_.reset();
  runtime_ = std::make_unique<Runtime>();  // with the end of the former, nobody removes anything
  {
    const auto left_over =
        storage::open_file(path_ + "/data-000900.00000", {.intent = storage::Intent::kCreateNew});
    ASSERT_TRUE(left_over) << left_over.error().message();
    ASSERT_TRUE((*left_over)->allocate({0, memory.free_bytes() - 8_KiB}));
  }
  ASSERT_EQ(memory.free_bytes(), 8_KiB);
  auto opened = runtime_->dataset(path_, small_plan());
  ASSERT_TRUE(opened) << opened.error().message();
  dataset_ = std::make_unique<Dataset>(std::move(*opened));
  expect_to_go_on(2);
}

// What was kept for later took the room of every second step.
TEST_F(OnBadStorage, with_room_for_one_step_more_than_are_kept_takes_every_step) {
  const SmallMemory memory(40_MiB);
  WritePlan plan = small_plan();
  plan.keep = 1;
  open(memory.path() + "/run.fb", plan);
  for (std::uint64_t number = 2; number < 9; ++number) {
    const auto receipt = write_mebibytes(*dataset_, number, 15);
    ASSERT_TRUE(receipt) << "step " << number << ": " << receipt.error().message();
    EXPECT_TRUE(read::eventually([&] { return memory.free_bytes() > 20_MiB; }))
        << "the step before " << number << " still takes room";
  }
}

// Each step that failed took its room from those that came after it.
TEST_F(OnBadStorage, that_was_full_takes_further_steps_into_the_same_file) {
  const SmallMemory memory(24_MiB);
  WritePlan plan = small_plan();
  plan.steps_per_group = 16;
  open(memory.path() + "/run.fb", plan);
  for (std::uint64_t number = 2; number < 6; ++number) {
    EXPECT_EQ(error_class(write_mebibytes(*dataset_, number, 32)), ErrorClass::kNoSpace);
    EXPECT_TRUE(read::eventually([&] { return memory.free_bytes() > 18_MiB; }))
        << "what failed still takes room";
  }
  const auto receipt = write_mebibytes(*dataset_, 6, 12);
  EXPECT_TRUE(receipt) << receipt.error().message();
  std::ignore = dataset_->close();  // tells of the steps that failed
  dataset_.reset();
  runtime_.reset();
  const auto reader = StepReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader->steps(), (std::vector<std::uint64_t>{1, 6}));
}

/// Without delays: what counts is that the kernel tells of a write that was done in part as EIO.
TEST_F(OnBadStorage, that_is_full_below_fuse_says_so_and_smaller_steps_go_on) {
  const SmallMemory memory(16_MiB);
  const EmulatedStorage storage({.backing = memory.path() + "/backing"});
  if (!storage.reason_against().empty()) GTEST_SKIP() << storage.reason_against();
  open(storage / "run.fb", small_plan());
  const auto receipt = write_mebibytes(*dataset_, 2, 24);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().error_number(), ENOSPC) << receipt.error().message();
  expect_to_go_on(3);
  runtime_.reset();
}

TEST_F(OnBadStorage, whose_disk_has_less_than_it_promised_publishes_nothing_of_a_step) {
  const SmallMemory memory(24_MiB);
  const LoopDisk disk({.make = {"mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "nodiscard"},
                       .size_bytes = 96_MiB,
                       .image_folder = memory.path()});
  if (!disk.reason_against().empty()) GTEST_SKIP() << disk.reason_against();
  open(disk / "run.fb", small_plan());
  const auto receipt = write_mebibytes(*dataset_, 2, 48);
  ASSERT_FALSE(receipt);
  EXPECT_TRUE(mentions(receipt.error(), path_)) << receipt.error().message();
  std::ignore = dataset_->close();
  dataset_.reset();
  runtime_.reset();
  const auto reader = StepReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader->steps(), std::vector<std::uint64_t>{1});
}

TEST_F(OnBadStorage, that_is_read_only_is_told_when_the_dataset_is_opened) {
  const SmallMemory memory(16_MiB);
  ASSERT_EQ(::mount("none", memory.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const std::string path = memory.path() + "/run.fb";
  const auto dataset = runtime_->dataset(path, small_plan());
  ASSERT_FALSE(dataset);
  EXPECT_EQ(dataset.error().error_number(), EROFS) << dataset.error().message();
  EXPECT_EQ(dataset.error().path(), path);
}

TEST_F(OnBadStorage, that_became_read_only_tells_what_cannot_be_written) {
  const SmallMemory memory(16_MiB);
  open(memory.path() + "/run.fb", small_plan());
  ASSERT_TRUE(dataset_->close());
  dataset_.reset();
  runtime_ = std::make_unique<Runtime>();  // the lease is gone with the former one
  ASSERT_EQ(::mount("none", memory.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const auto again = runtime_->dataset(path_, small_plan());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().error_number(), EROFS) << again.error().message();
  EXPECT_TRUE(mentions(again.error(), path_)) << again.error().message();
  EXPECT_TRUE(is_whole(path_, cargo_, 1));
}

}  // namespace
}  // namespace forebay::faults
