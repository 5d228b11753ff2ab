// SPDX-License-Identifier: Apache-2.0
// Storage that takes all bytes and fails when they are to be durable. A system may have dropped
// what it could not write, and says so once; the next sync succeeds, and the bytes are gone. So
// nothing that a failed sync was about may be counted on later: here it is taken away for good.
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
#include "cargo.hpp"
#include "comm/in_process.hpp"
#include "read/testing.hpp"
#include "reading.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/own_mounts.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;
using Communicator = std::shared_ptr<comm::Communicator>;
using Steps = std::vector<std::uint64_t>;

constexpr std::uint32_t kRanksThatSync = 3;

/// Each rank writes a file of its own.
WritePlan own_files(std::uint32_t steps_per_group, std::uint32_t keep = 0) {
  WritePlan plan{.strategy = Strategy::kFilePerProcess};
  plan.unit_bytes = 1_MiB;
  plan.memory_bytes = 2_MiB;
  plan.steps_per_group = steps_per_group;
  plan.keep = keep;
  plan.deadline = std::chrono::seconds(30);
  return plan;
}

/// 0 where there is no such file, as agents give files other names at any time.
ino_t inode_of(const std::string& path) {
  struct stat file{};
  return ::stat(path.c_str(), &file) == 0 ? file.st_ino : 0;
}

/// Agents remove files behind the application's back.
bool goes_away(const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (fs::exists(path) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return !fs::exists(path);
}

/// What each rank was told of a step: none if it was published.
using Told = std::vector<std::optional<Error>>;

class Unsynced : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = reason_against_own_mounts(); !reason.empty()) GTEST_SKIP() << reason;
    storage_ = std::make_unique<EmulatedStorage>();
    if (!storage_->reason_against().empty()) GTEST_SKIP() << storage_->reason_against();
  }

  /// All ranks write steps 1 to `last`; before a step they come together, and the first one does
  /// what `before` says.
  std::vector<Told> write(const WritePlan& plan,
                          std::uint64_t last,
                          const std::function<void(std::uint64_t)>& before) {
    std::vector<Told> told(last + 1, Told(kRanksThatSync));
    std::barrier<> together(kRanksThatSync);
    const Status ran =
        comm::run_ranks({.count = kRanksThatSync}, [&](const Communicator& ranks) -> Status {
          Runtime runtime{Ranks(ranks)};
          auto dataset = runtime.dataset(*storage_ / kName, plan);
          if (!dataset) return failure(dataset.error());  // on all ranks alike
          for (std::uint64_t step = 1; step <= last; ++step) {
            together.arrive_and_wait();
            if (runtime.rank() == 0) before(step);
            together.arrive_and_wait();
            const auto receipt = write_step(runtime, *dataset, cargo_, step);
            if (!receipt) told[step][runtime.rank()] = receipt.error();
          }
          std::ignore = dataset->close();  // tells of the steps that failed
          return {};
        });
    EXPECT_TRUE(ran) << ran.error().message();
    return told;
  }
  /// Has syncs of this file or folder of the dataset fail, once it is there.
  void break_syncs(const std::string& name) {
    EXPECT_TRUE(read::eventually([&] { return fs::exists(*storage_ / (kName + name)); })) << name;
    storage_->break_syncs(kName + name);
  }
  void save(const std::string& name) const {
    std::error_code error;
    fs::copy_file(storage_->behind(kName + name), saved_ / "file", error);
    EXPECT_FALSE(error) << error.message();
  }
  /// What was written to the file since it was saved is lost, and syncs work again.
  void lose_and_heal(const std::string& name) {
    std::error_code error;
    fs::copy_file(saved_ / "file", storage_->behind(kName + name),
                  fs::copy_options::overwrite_existing, error);  // keeps its inode
    EXPECT_FALSE(error) << error.message();
    storage_->heal();
  }
  static void expect_published(const Told& told) {
    for (const auto& error : told)
      EXPECT_FALSE(error) << error->message();
  }
  /// That all ranks were told the same: what could not be synced, where, and why.
  void expect_failed(const Told& told, const std::string& name) const {
    for (const auto& error : told) {
      ASSERT_TRUE(error.has_value());
      EXPECT_EQ(error->error_number(), EIO) << error->message();
      EXPECT_EQ(error->path(), *storage_ / (kName + name)) << error->message();
      EXPECT_NE(error->message().find("sync"), std::string::npos) << error->message();
      EXPECT_EQ(error->message(), told[0]->message());
    }
  }
  /// What really lies there.
  void expect_steps(const Steps& steps) const {
    const std::string behind = storage_->behind(kName);
    EXPECT_TRUE(is_whole(behind, cargo_, steps.back()));
    const auto reader = StepReader::open(behind);
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(reader->steps(), steps);
  }

  const std::string kName = "run.fb";
  const Cargo cargo_{23};
  std::unique_ptr<EmulatedStorage> storage_;
  const TemporaryFolder saved_;
};

TEST_F(Unsynced, a_data_file_fails_its_step_on_all_ranks_and_is_not_used_again) {
  const std::string name = "/data-000001.00001";
  const auto told = write(own_files(1, 1), 6, [&](std::uint64_t step) {
    if (step == 2) break_syncs(name);
    if (step != 3) return;
    EXPECT_TRUE(goes_away(storage_->behind(kName + name)));
    EXPECT_TRUE(is_whole(storage_->behind(kName), cargo_, 1)) << "the former step";
    storage_->heal();
  });
  expect_failed(told[2], name);
  EXPECT_NE(told[2][0]->message().find("rank 1"), std::string::npos) << told[2][0]->message();
  for (const std::uint64_t step : {1U, 3U, 4U, 5U, 6U})
    expect_published(told[step]);
  expect_steps({6});
}

TEST_F(Unsynced, a_data_file_of_several_steps_is_of_no_use_for_those_that_follow) {
  const std::string name = "/data-000000.00002";
  const auto told = write(own_files(3), 5, [&](std::uint64_t step) {
    if (step == 2) {
      break_syncs(name);
      save(name);
    }
    if (step == 3) lose_and_heal(name);
  });
  expect_published(told[1]);
  expect_failed(told[2], name);
  expect_failed(told[3], name);  // of the same file, though syncs work again
  expect_published(told[4]);
  expect_published(told[5]);
  expect_steps({1, 4, 5});
}

TEST_F(Unsynced, a_data_file_with_an_older_step_is_not_kept_for_newer_ones) {
  const std::string name = "/data-000000.00000";
  Descriptor held;  // so that its number is given to no other file
  ino_t bad = 0;
  const auto told = write(own_files(2, 1), 8, [&](std::uint64_t step) {
    if (step == 2) {
      break_syncs(name);
      save(name);
      const std::string behind = storage_->behind(kName + name);
      held = Descriptor(::open(behind.c_str(), O_RDONLY | O_CLOEXEC));
      bad = inode_of(behind);
      EXPECT_NE(bad, 0U) << behind;
    }
    if (step == 3) lose_and_heal(name);
    if (step <= 4) return;
    for (const auto& entry : fs::directory_iterator(storage_->behind(kName))) {
      EXPECT_NE(inode_of(entry.path()), bad) << step << ": " << entry.path();
    }
  });
  expect_failed(told[2], name);
  for (const std::uint64_t step : {1U, 3U, 4U, 5U, 6U, 7U, 8U})
    expect_published(told[step]);
  expect_steps({8});
}

TEST_F(Unsynced, the_commits_file_fails_the_step_and_nothing_of_it_is_counted_on) {
  const std::string name = "/commits";
  const auto told = write(own_files(1), 4, [&](std::uint64_t step) {
    if (step == 2) {
      break_syncs(name);
      save(name);
    }
    if (step != 3) return;
    EXPECT_TRUE(is_whole(storage_->behind(kName), cargo_, 1, Slots::kOneMayBeTorn));
    lose_and_heal(name);
    EXPECT_TRUE(is_whole(storage_->behind(kName), cargo_, 1));
  });
  expect_failed(told[2], name);
  for (const std::uint64_t step : {1U, 3U, 4U})
    expect_published(told[step]);
  expect_steps({1, 3, 4});
}

TEST_F(Unsynced, a_folder_fails_the_step_and_the_next_one_goes_on) {
  const auto told = write(own_files(1), 3, [&](std::uint64_t step) {
    if (step == 2) break_syncs("");
    if (step != 3) return;
    EXPECT_TRUE(is_whole(storage_->behind(kName), cargo_, 1));
    storage_->heal();
  });
  expect_failed(told[2], "");
  expect_published(told[1]);
  expect_published(told[3]);
  expect_steps({1, 3});
}

}  // namespace
}  // namespace forebay::faults
