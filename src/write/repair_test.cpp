// SPDX-License-Identifier: Apache-2.0
// Repair with other holders: no step that was acknowledged is lost.
#include "write/repair.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "format/catalog.hpp"
#include "format/testing.hpp"
#include "format/verify.hpp"
#include "storage/testing.hpp"
#include "write/commit_log.hpp"
#include "write/fence.hpp"
#include "write/lease.hpp"

namespace forebay::write {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::uint64_t>;

class RepairTest : public ::testing::Test {
 protected:
  /// Steps 1 to 3; the slot of the third is damaged.
  void SetUp() override {
    for (std::uint64_t step = 1; step <= 3; ++step)
      writer_.write(format::test_step(step, 5, 2));
    const auto commits = storage::must_open(commits_, {.intent = storage::Intent::kWrite});
    const std::vector<std::byte> zeros(1000);
    ASSERT_TRUE(commits->write_at(zeros, writer_.state().generation % 2 * format::kPageBytes));
  }
  Steps steps() const {
    const auto catalog = format::Catalog::open(path_);
    EXPECT_TRUE(catalog) << catalog.error().message();
    Steps found;
    for (const format::StepEntry& step : (*catalog)->steps())
      found.push_back(step.step);
    return found;
  }
  /// A step in its own group, written to its files.
  format::StepEntry written(std::uint64_t step) {
    return writer_.write_data(format::test_step(step, 5, 2));
  }
  /// Another program takes over the lease of this one, which was stopped for long, and opens the
  /// dataset.
  std::unique_ptr<CommitLog> take_over() {
    fs::remove(path_ + "/owner");
    other_ = std::move(Lease::acquire(path_).value());
    EXPECT_TRUE(fence_writers(path_));
    auto commit_log = CommitLog::open(path_);
    EXPECT_TRUE(commit_log) << commit_log.error().message();
    return commit_log ? std::move(*commit_log) : nullptr;
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "run.fb";
  const std::string commits_ = path_ + "/commits";
  format::TestWriter writer_{path_, format::test_dataset_id()};
  std::unique_ptr<Lease> other_;
};

TEST_F(RepairTest, damaged_slot_is_recovered_and_lease_released) {
  EXPECT_EQ(steps(), (Steps{1, 2}));
  const auto report = repair(path_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->rewritten_paths, std::vector<std::string>{commits_});
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
  EXPECT_FALSE(fs::exists(path_ + "/owner"));
}

TEST_F(RepairTest, damaged_header_is_rewritten) {
  const std::string data = path_ + "/data-000000.00001";
  ASSERT_TRUE(storage::must_open(data, {.intent = storage::Intent::kWrite})
                  ->write_at(std::vector<std::byte>(8), 0));
  const auto report = repair(path_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->rewritten_paths, (std::vector<std::string>{data, commits_}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
}

TEST_F(RepairTest, missing_commits_is_rebuilt) {
  fs::remove(commits_);
  const auto report = repair(path_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
}

TEST_F(RepairTest, repair_under_lease_of_another_is_refused) {
  const auto writing = Lease::acquire(path_);
  ASSERT_TRUE(writing) << writing.error().message();
  EXPECT_EQ(error_class(repair(path_)), ErrorClass::kPermission);
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(RepairTest, resumed_former_holder_is_excluded) {
  const auto former = CommitLog::open(path_);
  ASSERT_TRUE(former) << former.error().message();
  ASSERT_TRUE(repair(path_));
  EXPECT_FALSE((*former)->publish(written(4)));
  EXPECT_TRUE((*former)->is_replaced());
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
}

TEST_F(RepairTest, repair_after_takeover_changes_nothing) {
  std::unique_ptr<CommitLog> commit_log;
  const auto report = repair(path_, [&](const format::ReadProgress&) {
    if (commit_log) return true;
    commit_log = take_over();
    const Status published = commit_log->publish(written(4));
    EXPECT_TRUE(published) << published.error().message();
    return true;
  });
  EXPECT_EQ(error_class(report), ErrorClass::kPermission);
  const Status published = commit_log->publish(written(5));
  EXPECT_TRUE(published) << published.error().message();
  EXPECT_EQ(steps(), (Steps{1, 2, 4, 5}));
}

TEST_F(RepairTest, concurrently_created_commits_is_kept) {
  fs::remove(commits_);
  bool has_made = false;
  const auto report = repair(path_, [&](const format::ReadProgress&) {
    if (!std::exchange(has_made, true)) {
      fs::remove(path_ + "/owner");
      EXPECT_TRUE(repair(path_));
      const auto commit_log = take_over();
      EXPECT_TRUE(commit_log->publish(written(4)));
    }
    return true;
  });
  EXPECT_FALSE(report);
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 4}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
}

}  // namespace
}  // namespace forebay::write
