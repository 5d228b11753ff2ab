// SPDX-License-Identifier: Apache-2.0
// Repair beside other writers: none of them loses a step that was acknowledged.
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
#include "write/fence.hpp"
#include "write/lease.hpp"
#include "write/publisher.hpp"

namespace forebay::write {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::uint64_t>;

class RepairOfDatasets : public ::testing::Test {
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
  /// A step of a group of its own, in its files.
  format::StepEntry written(std::uint64_t step) {
    return writer_.write_data(format::test_step(step, 5, 2));
  }
  /// Another program takes the lease of this one, which was stopped for long, and opens the
  /// dataset.
  std::unique_ptr<Publisher> take_over() {
    fs::remove(path_ + "/owner");
    other_ = std::move(Lease::acquire(path_).value());
    EXPECT_TRUE(fence_commits(path_));
    auto publisher = Publisher::open(path_);
    EXPECT_TRUE(publisher) << publisher.error().message();
    return publisher ? std::move(*publisher) : nullptr;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.fb";
  const std::string commits_ = path_ + "/commits";
  format::TestWriter writer_{path_, format::test_dataset()};
  std::unique_ptr<Lease> other_;
};

TEST_F(RepairOfDatasets, of_a_damaged_slot_recovers_its_step_and_releases_the_lease) {
  EXPECT_EQ(steps(), (Steps{1, 2}));
  const auto report = repair(path_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->rewritten, std::vector<std::string>{commits_});
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
  EXPECT_FALSE(fs::exists(path_ + "/owner"));
}

TEST_F(RepairOfDatasets, of_a_damaged_header_writes_it_anew) {
  const std::string data = path_ + "/data-000000.00001";
  ASSERT_TRUE(storage::must_open(data, {.intent = storage::Intent::kWrite})
                  ->write_at(std::vector<std::byte>(8), 0));
  const auto report = repair(path_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->rewritten, (std::vector<std::string>{data, commits_}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
}

TEST_F(RepairOfDatasets, of_lost_commits_makes_them_anew) {
  fs::remove(commits_);
  const auto report = repair(path_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
}

TEST_F(RepairOfDatasets, under_the_lease_of_a_writer_is_refused) {
  const auto writing = Lease::acquire(path_);
  ASSERT_TRUE(writing) << writing.error().message();
  EXPECT_EQ(error_class(repair(path_)), ErrorClass::kPermission);
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(RepairOfDatasets, keeps_out_a_former_writer_that_resumes) {
  const auto former = Publisher::open(path_);
  ASSERT_TRUE(former) << former.error().message();
  ASSERT_TRUE(repair(path_));
  EXPECT_FALSE((*former)->publish(written(4)));
  EXPECT_TRUE((*former)->is_replaced());
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
}

TEST_F(RepairOfDatasets, that_is_stopped_while_another_program_takes_over_changes_nothing) {
  std::unique_ptr<Publisher> publisher;
  const auto report = repair(path_, [&](const format::ReadProgress&) {
    if (publisher) return true;
    publisher = take_over();
    const Status published = publisher->publish(written(4));
    EXPECT_TRUE(published) << published.error().message();
    return true;
  });
  EXPECT_EQ(error_class(report), ErrorClass::kPermission);
  const Status published = publisher->publish(written(5));
  EXPECT_TRUE(published) << published.error().message();
  EXPECT_EQ(steps(), (Steps{1, 2, 4, 5}));
}

TEST_F(RepairOfDatasets, of_lost_commits_leaves_those_that_another_program_made_meanwhile) {
  fs::remove(commits_);
  bool has_made = false;
  const auto report = repair(path_, [&](const format::ReadProgress&) {
    if (!std::exchange(has_made, true)) {
      fs::remove(path_ + "/owner");
      EXPECT_TRUE(repair(path_));
      const auto publisher = take_over();
      EXPECT_TRUE(publisher->publish(written(4)));
    }
    return true;
  });
  EXPECT_FALSE(report);
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 4}));
  EXPECT_TRUE(format::verify(path_)->findings.empty());
}

}  // namespace
}  // namespace forebay::write
