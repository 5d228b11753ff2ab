// SPDX-License-Identifier: Apache-2.0
// Storage that accepts all bytes and fails when they are synced. A system may drop what it could
// not write, and report that once; the next sync succeeds, and the bytes are lost. So data of a
// failed sync must not be used later: these tests remove it permanently.
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/descriptor.hpp"
#include "base/testing.hpp"
#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "dataset_checks.hpp"
#include "read/testing.hpp"
#include "test_contents.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/private_mounts.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;
using Communicator = std::shared_ptr<comm::Communicator>;
using Steps = std::vector<std::uint64_t>;

constexpr std::uint32_t kSyncRanks = 3;

/// Each rank writes a separate file.
WritePlan file_per_process_plan(std::uint32_t steps_per_group, std::uint32_t keep = 0) {
  WritePlan plan{.strategy = Strategy::kFilePerProcess};
  plan.tuning.unit_bytes = 1_MiB;
  plan.memory_bytes = 2_MiB;
  plan.tuning.steps_per_group = steps_per_group;
  plan.retained_steps = keep;
  plan.step_timeout = std::chrono::seconds(30);
  return plan;
}

/// 0 if the file does not exist, as agents rename files at any time.
ino_t inode_of(const std::string& path) {
  struct stat file{};
  return ::stat(path.c_str(), &file) == 0 ? file.st_ino : 0;
}

/// Agents remove files asynchronously.
bool wait_until_removed(const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (fs::exists(path) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return !fs::exists(path);
}

/// The Error of each rank for a step: no value if it was published.
using RankErrors = std::vector<std::optional<Error>>;

class Unsynced : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = private_mounts_unavailable_reason(); !reason.empty())
      GTEST_SKIP() << reason;
    storage_ = std::make_unique<EmulatedStorage>();
    if (!storage_->unavailable_reason().empty()) GTEST_SKIP() << storage_->unavailable_reason();
  }

  /// All ranks write steps 1 to `last`. Before each step they meet, and the first rank calls
  /// `before`.
  std::vector<RankErrors> write(const WritePlan& plan,
                                std::uint64_t last,
                                const std::function<void(std::uint64_t)>& before) {
    std::vector<RankErrors> errors(last + 1, RankErrors(kSyncRanks));
    std::barrier<> step_barrier(kSyncRanks);
    const Status ran =
        comm::run_ranks({.count = kSyncRanks}, [&](const Communicator& ranks) -> Status {
          Runtime runtime{comm::make_ranks(ranks)};
          auto dataset = runtime.create_dataset(*storage_ / kName, {.plan = plan});
          if (!dataset) return failure(dataset.error());  // the same on all ranks
          for (std::uint64_t step = 1; step <= last; ++step) {
            step_barrier.arrive_and_wait();
            if (runtime.rank() == 0) before(step);
            step_barrier.arrive_and_wait();
            const auto receipt = write_step(runtime, *dataset, contents_, step);
            if (!receipt) errors[step][runtime.rank()] = receipt.error();
          }
          std::ignore = dataset->close();  // reports the steps that failed
          return {};
        });
    EXPECT_TRUE(ran) << ran.error().message();
    return errors;
  }
  /// Makes syncs of this file or directory of the dataset fail, once it exists.
  void inject_sync_errors(const std::string& name) {
    EXPECT_TRUE(read::wait_until([&] { return fs::exists(*storage_ / (kName + name)); })) << name;
    storage_->inject_sync_errors(kName + name);
  }
  void save(const std::string& name) const {
    std::error_code error;
    fs::copy_file(storage_->backing_path(kName + name), saved_ / "file", error);
    EXPECT_FALSE(error) << error.message();
  }
  /// Discards what was written to the file since it was saved; syncs work again.
  void restore_and_heal(const std::string& name) {
    std::error_code error;
    fs::copy_file(saved_ / "file", storage_->backing_path(kName + name),
                  fs::copy_options::overwrite_existing, error);  // keeps its inode
    EXPECT_FALSE(error) << error.message();
    storage_->clear_faults();
  }
  static void expect_published(const RankErrors& errors) {
    for (const auto& error : errors)
      EXPECT_FALSE(error) << error->message();
  }
  /// Checks that all ranks got the same Error: what could not be synced, where, and why.
  void expect_failed(const RankErrors& errors, const std::string& name) const {
    for (const auto& error : errors) {
      ASSERT_TRUE(error.has_value());
      EXPECT_EQ(error->error_number(), EIO) << error->message();
      EXPECT_EQ(error->path(), *storage_ / (kName + name)) << error->message();
      EXPECT_NE(error->message().find("sync"), std::string::npos) << error->message();
      EXPECT_EQ(error->message(), errors[0]->message());
    }
  }
  /// Checks the steps in the backing directory.
  void expect_steps(const Steps& steps) const {
    const std::string backing = storage_->backing_path(kName);
    EXPECT_TRUE(is_intact(backing, contents_, steps.back()));
    const auto reader = CatalogReader::open(backing);
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(reader->steps(), steps);
  }

  const std::string kName = "run.fb";
  const TestContents contents_{23};
  std::unique_ptr<EmulatedStorage> storage_;
  const TemporaryDirectory saved_;
};

TEST_F(Unsynced, data_file_fails_its_step_on_all_ranks_and_is_not_reused) {
  const std::string name = "/data-000001.00001";
  const auto errors = write(file_per_process_plan(1, 1), 6, [&](std::uint64_t step) {
    if (step == 2) inject_sync_errors(name);
    if (step != 3) return;
    EXPECT_TRUE(wait_until_removed(storage_->backing_path(kName + name)));
    EXPECT_TRUE(is_intact(storage_->backing_path(kName), contents_, 1)) << "the former step";
    storage_->clear_faults();
  });
  expect_failed(errors[2], name);
  EXPECT_NE(errors[2][0]->message().find("rank 1"), std::string::npos) << errors[2][0]->message();
  for (const std::uint64_t step : {1U, 3U, 4U, 5U, 6U})
    expect_published(errors[step]);
  expect_steps({6});
}

TEST_F(Unsynced, data_file_of_several_steps_fails_later_ones_too) {
  const std::string name = "/data-000000.00002";
  const auto errors = write(file_per_process_plan(3), 5, [&](std::uint64_t step) {
    if (step == 2) {
      inject_sync_errors(name);
      save(name);
    }
    if (step == 3) restore_and_heal(name);
  });
  expect_published(errors[1]);
  expect_failed(errors[2], name);
  expect_failed(errors[3], name);  // in the same file, though syncs work again
  expect_published(errors[4]);
  expect_published(errors[5]);
  expect_steps({1, 4, 5});
}

TEST_F(Unsynced, data_file_with_an_older_step_is_not_recycled) {
  const std::string name = "/data-000000.00000";
  Descriptor held;  // so that no other file gets its inode number
  ino_t bad = 0;
  const auto errors = write(file_per_process_plan(2, 1), 8, [&](std::uint64_t step) {
    if (step == 2) {
      inject_sync_errors(name);
      save(name);
      const std::string backing = storage_->backing_path(kName + name);
      held = Descriptor(::open(backing.c_str(), O_RDONLY | O_CLOEXEC));
      bad = inode_of(backing);
      EXPECT_NE(bad, 0U) << backing;
    }
    if (step == 3) restore_and_heal(name);
    if (step <= 4) return;
    for (const auto& entry : fs::directory_iterator(storage_->backing_path(kName))) {
      EXPECT_NE(inode_of(entry.path()), bad) << step << ": " << entry.path();
    }
  });
  expect_failed(errors[2], name);
  for (const std::uint64_t step : {1U, 3U, 4U, 5U, 6U, 7U, 8U})
    expect_published(errors[step]);
  expect_steps({8});
}

TEST_F(Unsynced, commits_file_fails_the_step_and_is_not_trusted) {
  const std::string name = "/commits";
  const auto errors = write(file_per_process_plan(1), 4, [&](std::uint64_t step) {
    if (step == 2) {
      inject_sync_errors(name);
      save(name);
    }
    if (step != 3) return;
    EXPECT_TRUE(is_intact(storage_->backing_path(kName), contents_, 1, CommitSlots::kOneMayBeTorn));
    restore_and_heal(name);
    EXPECT_TRUE(is_intact(storage_->backing_path(kName), contents_, 1));
  });
  expect_failed(errors[2], name);
  for (const std::uint64_t step : {1U, 3U, 4U})
    expect_published(errors[step]);
  expect_steps({1, 3, 4});
}

TEST_F(Unsynced, directory_fails_the_step_and_the_next_one_works) {
  const auto errors = write(file_per_process_plan(1), 3, [&](std::uint64_t step) {
    if (step == 2) inject_sync_errors("");
    if (step != 3) return;
    EXPECT_TRUE(is_intact(storage_->backing_path(kName), contents_, 1));
    storage_->clear_faults();
  });
  expect_failed(errors[2], "");
  expect_published(errors[1]);
  expect_published(errors[3]);
  expect_steps({1, 3});
}

}  // namespace
}  // namespace forebay::faults
