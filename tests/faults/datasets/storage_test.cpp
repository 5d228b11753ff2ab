// SPDX-License-Identifier: Apache-2.0
// Datasets on storage that fails: stalled, full, over quota, broken, read-only. The application
// gets an Error with cause and place in bounded time. Durable steps remain complete. When storage
// works again, so does the dataset.
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
#include "dataset_checks.hpp"
#include "read/testing.hpp"
#include "storage/file.hpp"
#include "test_contents.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/private_mounts.hpp"

namespace forebay::faults {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr auto kStepDeadline = std::chrono::milliseconds(1500);
constexpr auto kReportDelayMax = std::chrono::seconds(20);  ///< on a busy machine
const std::vector<double> kMebibyte(131'072, 1.5);

WritePlan small_plan(StagingFullPolicy staging_full_policy = StagingFullPolicy::kBlock) {
  WritePlan plan{.strategy = Strategy::kSerial};
  plan.tuning.unit_bytes = 1_MiB;
  plan.memory_bytes = 2_MiB;
  plan.staging_full_policy = staging_full_policy;
  plan.step_timeout = kStepDeadline;
  return plan;
}

/// Puts parts of one mebibyte until one is rejected.
Status fill(StepWriter& step, std::uint64_t parts_max) {
  for (std::uint64_t part = 0; part < parts_max; ++part)
    if (Status put = step.put("large", Part{part}, std::span(kMebibyte)); !put) return put;
  return {};
}

/// Writes a step of `count` mebibytes.
Result<Receipt> write_mebibytes(DatasetWriter& dataset, std::uint64_t number, std::uint64_t count) {
  auto step = dataset.begin_step(number);
  if (!step) return failure(step.error());
  if (const Status put = fill(*step, count); !put) return failure(put.error());
  return step->commit().wait();
}

class FaultyStorage : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = private_mounts_unavailable_reason(); !reason.empty())
      GTEST_SKIP() << reason;
  }
  /// Opens a dataset and writes a first step, which must remain complete.
  void open(const std::string& path, const WritePlan& plan) {
    path_ = path;
    auto opened = runtime_->create_dataset(path, {.plan = plan});
    ASSERT_TRUE(opened) << opened.error().message();
    dataset_ = std::make_unique<DatasetWriter>(std::move(*opened));
    const auto first = write_step(*runtime_, *dataset_, contents_, 1);
    ASSERT_TRUE(first) << first.error().message();
  }
  /// Storage works again: the next step is written, and all existing steps are complete. The space
  /// of a failed step is free when its file is closed, which is after its failure was reported.
  void expect_next_step(std::uint64_t number) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(30);
    auto receipt = write_step(*runtime_, *dataset_, contents_, number);
    while (error_class(receipt) == ErrorClass::kNoSpace && steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      receipt = write_step(*runtime_, *dataset_, contents_, ++number);
    }
    EXPECT_TRUE(receipt) << receipt.error().message();
    std::ignore = dataset_->close();  // reports the step that failed
    dataset_.reset();
    runtime_.reset();
    EXPECT_TRUE(is_intact(path_, contents_, number));
  }

  std::string path_;
  const TestContents contents_{11};
  std::unique_ptr<Runtime> runtime_ = std::make_unique<Runtime>();
  std::unique_ptr<DatasetWriter> dataset_;
};

class FaultyEmulatedStorage : public FaultyStorage {
 protected:
  void SetUp() override {
    FaultyStorage::SetUp();
    if (IsSkipped()) return;
    storage_ = std::make_unique<EmulatedStorage>();
    if (!storage_->unavailable_reason().empty()) GTEST_SKIP() << storage_->unavailable_reason();
  }
  void TearDown() override {
    if (storage_ && storage_->unavailable_reason().empty()) storage_->clear_faults();
    dataset_.reset();
    runtime_.reset();
  }

  std::unique_ptr<EmulatedStorage> storage_;
};

// Regression: every plan's reason stated that the storage was unknown.
TEST_F(FaultyEmulatedStorage, that_describes_itself_determines_the_plan) {
  open(*storage_ / "run.fb", {});
  const std::string& reason = dataset_->plan().reason;
  EXPECT_NE(reason.find("storage described by its file system: local"), std::string::npos)
      << reason;
}

TEST_F(FaultyEmulatedStorage, that_stalls_with_a_full_pool_is_reported_by_the_deadline) {
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
    EXPECT_LT(took, kReportDelayMax);
    const auto receipt = step->commit().wait();
    ASSERT_FALSE(receipt);
    EXPECT_EQ(receipt.error().message(), put.error().message());
  }
  expect_next_step(3);
}

TEST_F(FaultyEmulatedStorage, that_stalls_with_a_full_pool_fails_at_once_with_policy_fail) {
  WritePlan plan = small_plan(StagingFullPolicy::kFail);
  plan.step_timeout = std::chrono::minutes(5);
  open(*storage_ / "run.fb", plan);
  {
    const EmulatedStorage::Stall stall(*storage_);
    auto step = dataset_->begin_step(2);
    ASSERT_TRUE(step) << step.error().message();
    const auto begin = steady_clock::now();
    EXPECT_EQ(error_class(fill(*step, 100)), ErrorClass::kLimit);
    EXPECT_LT(steady_clock::now() - begin, kReportDelayMax);
    step->abort();
  }
  // Bytes in flight to storage keep their memory until they are written.
  std::uint64_t number = 2;
  EXPECT_TRUE(read::wait_until([&] { return bool(write_mebibytes(*dataset_, ++number, 1)); }));
  EXPECT_EQ(dataset_->newest_step(), number);
}

TEST_F(FaultyEmulatedStorage, that_stalls_a_committed_step_fails_it_at_its_deadline) {
  WritePlan plan = small_plan();
  plan.step_timeout = 4 * kStepDeadline;  // a quarter of it, on a busy machine, to find the late
                                          // ranks
  open(*storage_ / "run.fb", plan);
  {
    const EmulatedStorage::Stall stall(*storage_);
    const auto begin = steady_clock::now();
    const auto receipt = write_mebibytes(*dataset_, 2, 1);
    ASSERT_FALSE(receipt);
    EXPECT_EQ(receipt.error().kind(), ErrorClass::kLimit) << receipt.error().message();
    EXPECT_THAT(receipt.error().message(), HasSubstr("bytes of ranks 0"));
    EXPECT_LT(steady_clock::now() - begin, kReportDelayMax);
  }
  expect_next_step(3);
}

TEST_F(FaultyEmulatedStorage, with_a_bad_block_names_the_file_and_the_next_step_works) {
  open(*storage_ / "run.fb", small_plan());
  // Created ahead of the step, which is in its second file.
  const std::string name = "data-000001.00000";
  ASSERT_TRUE(read::wait_until([&] { return std::filesystem::exists(path_ + "/" + name); }));
  storage_->inject_write_errors("run.fb/" + name, 1_MiB);
  const auto receipt = write_mebibytes(*dataset_, 2, 4);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind(), ErrorClass::kIo) << receipt.error().message();
  EXPECT_EQ(receipt.error().error_number(), EIO) << receipt.error().message();
  EXPECT_EQ(receipt.error().path(), path_ + "/" + name);
  EXPECT_TRUE(receipt.error().offset_bytes().has_value()) << receipt.error().message();
  storage_->clear_faults();
  expect_next_step(3);
}

TEST_F(FaultyEmulatedStorage, over_quota_is_reported_and_the_next_step_works) {
  open(*storage_ / "run.fb", small_plan());
  storage_->set_quota(2_MiB);
  const auto receipt = write_mebibytes(*dataset_, 2, 8);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind(), ErrorClass::kNoSpace) << receipt.error().message();
  EXPECT_EQ(receipt.error().error_number(), EDQUOT) << receipt.error().message();
  storage_->clear_faults();
  expect_next_step(3);
}

TEST_F(FaultyStorage, that_is_full_is_reported_and_smaller_steps_work) {
  const SizedTmpfs memory(16_MiB);
  open(memory.path() + "/run.fb", small_plan());
  const auto receipt = write_mebibytes(*dataset_, 2, 24);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind(), ErrorClass::kNoSpace) << receipt.error().message();
  EXPECT_EQ(receipt.error().error_number(), ENOSPC) << receipt.error().message();
  EXPECT_TRUE(message_contains(receipt.error(), path_)) << receipt.error().message();
  EXPECT_TRUE(read::wait_until([&] { return memory.free_bytes() > 12_MiB; }))
      << "the failed step still occupies space";
  expect_next_step(3);
}

/// Tests that `owner` can be written to an almost full disk.
TEST_F(FaultyStorage, almost_filled_by_a_killed_writer_can_be_written_again) {
  const SizedTmpfs memory(16_MiB);
  open(memory.path() + "/run.fb", small_plan());
  ASSERT_TRUE(dataset_->close());
  dataset_.reset();
  runtime_ = std::make_unique<Runtime>();  // after the end of the former Runtime, no process
                                           // removes files
  {
    const auto filler =
        storage::open_file(path_ + "/data-000900.00000", {.intent = storage::Intent::kCreateNew});
    ASSERT_TRUE(filler) << filler.error().message();
    ASSERT_TRUE((*filler)->allocate({0, memory.free_bytes() - 8_KiB}));
  }
  ASSERT_EQ(memory.free_bytes(), 8_KiB);
  auto opened =
      runtime_->create_dataset(path_, {.existing = ExistingDataset::kAppend, .plan = small_plan()});
  ASSERT_TRUE(opened) << opened.error().message();
  dataset_ = std::make_unique<DatasetWriter>(std::move(*opened));
  expect_next_step(2);
}

// Regression: retained files took the space of every second step.
TEST_F(FaultyStorage, with_space_for_one_step_more_than_retained_takes_every_step) {
  const SizedTmpfs memory(40_MiB);
  WritePlan plan = small_plan();
  plan.retained_steps = 1;
  open(memory.path() + "/run.fb", plan);
  for (std::uint64_t number = 2; number < 9; ++number) {
    const auto receipt = write_mebibytes(*dataset_, number, 15);
    ASSERT_TRUE(receipt) << "step " << number << ": " << receipt.error().message();
    EXPECT_TRUE(read::wait_until([&] { return memory.free_bytes() > 20_MiB; }))
        << "the step before " << number << " still occupies space";
  }
}

// Regression: each failed step took its space from later steps.
TEST_F(FaultyStorage, that_was_full_takes_further_steps_in_the_same_file) {
  const SizedTmpfs memory(24_MiB);
  WritePlan plan = small_plan();
  plan.tuning.steps_per_group = 16;
  open(memory.path() + "/run.fb", plan);
  for (std::uint64_t number = 2; number < 6; ++number) {
    EXPECT_EQ(error_class(write_mebibytes(*dataset_, number, 32)), ErrorClass::kNoSpace);
    EXPECT_TRUE(read::wait_until([&] { return memory.free_bytes() > 18_MiB; }))
        << "the failed step still occupies space";
  }
  const auto receipt = write_mebibytes(*dataset_, 6, 12);
  EXPECT_TRUE(receipt) << receipt.error().message();
  std::ignore = dataset_->close();  // reports the steps that failed
  dataset_.reset();
  runtime_.reset();
  const auto reader = CatalogReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader->steps(), (std::vector<std::uint64_t>{1, 6}));
}

/// Without delays. The kernel reports a partial write as EIO.
TEST_F(FaultyStorage, that_is_full_below_fuse_is_reported_and_smaller_steps_work) {
  const SizedTmpfs memory(16_MiB);
  const EmulatedStorage storage({.backing = memory.path() + "/backing"});
  if (!storage.unavailable_reason().empty()) GTEST_SKIP() << storage.unavailable_reason();
  open(storage / "run.fb", small_plan());
  const auto receipt = write_mebibytes(*dataset_, 2, 24);
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().error_number(), ENOSPC) << receipt.error().message();
  expect_next_step(3);
  runtime_.reset();
}

TEST_F(FaultyStorage, with_less_space_than_reported_publishes_no_partial_step) {
  const SizedTmpfs memory(24_MiB);
  const LoopDisk disk({.make = {"mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "nodiscard"},
                       .size_bytes = 96_MiB,
                       .image_directory = memory.path()});
  if (!disk.unavailable_reason().empty()) GTEST_SKIP() << disk.unavailable_reason();
  open(disk / "run.fb", small_plan());
  const auto receipt = write_mebibytes(*dataset_, 2, 48);
  ASSERT_FALSE(receipt);
  EXPECT_TRUE(message_contains(receipt.error(), path_)) << receipt.error().message();
  std::ignore = dataset_->close();
  dataset_.reset();
  runtime_.reset();
  const auto reader = CatalogReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader->steps(), std::vector<std::uint64_t>{1});
}

TEST_F(FaultyStorage, that_is_read_only_fails_when_the_dataset_is_opened) {
  const SizedTmpfs memory(16_MiB);
  ASSERT_EQ(::mount("none", memory.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const std::string path = memory.path() + "/run.fb";
  const auto dataset = runtime_->create_dataset(path, {.plan = small_plan()});
  ASSERT_FALSE(dataset);
  EXPECT_EQ(dataset.error().error_number(), EROFS) << dataset.error().message();
  EXPECT_EQ(dataset.error().path(), path);
}

TEST_F(FaultyStorage, that_became_read_only_names_what_cannot_be_written) {
  const SizedTmpfs memory(16_MiB);
  open(memory.path() + "/run.fb", small_plan());
  ASSERT_TRUE(dataset_->close());
  dataset_.reset();
  runtime_ = std::make_unique<Runtime>();  // the former Runtime released the lease
  ASSERT_EQ(::mount("none", memory.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const auto again =
      runtime_->create_dataset(path_, {.existing = ExistingDataset::kAppend, .plan = small_plan()});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().error_number(), EROFS) << again.error().message();
  EXPECT_TRUE(message_contains(again.error(), path_)) << again.error().message();
  EXPECT_TRUE(is_intact(path_, contents_, 1));
}

}  // namespace
}  // namespace forebay::faults
