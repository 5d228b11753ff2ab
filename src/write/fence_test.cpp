// SPDX-License-Identifier: Apache-2.0
// A former holder that was presumed dead and resumes: every step that it acknowledged stays, and
// nothing that its successor has published is lost.
#include "write/fence.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing.hpp"
#include "format/load_commits.hpp"
#include "storage/testing.hpp"
#include "write/commit_log.hpp"

namespace forebay::write {
namespace {

format::StepEntry step_entry(std::uint64_t step) {
  return {.step = step,
          .group = step,
          .files = {{.file = 0, .index = {.offset = 4096, .bytes = 200, .checksum = step}}}};
}

class FenceTest : public ::testing::Test {
 protected:
  std::unique_ptr<CommitLog> open() {
    auto commit_log = CommitLog::open(directory_);
    EXPECT_TRUE(commit_log) << commit_log.error().message();
    return std::move(*commit_log);
  }
  /// The steps that a reader finds.
  std::vector<std::uint64_t> steps() const {
    const auto file = storage::must_open(commits());
    const auto loaded = format::load_commits(*file);
    EXPECT_TRUE(loaded);
    std::vector<std::uint64_t> steps;
    for (const format::StepEntry& step : loaded->steps)
      steps.push_back(step.step);
    return steps;
  }
  std::string commits() const { return directory_ + "/commits"; }

  const TemporaryDirectory parent_;
  const std::string directory_ = parent_ / "run.fb";
};
using Steps = std::vector<std::uint64_t>;

TEST_F(FenceTest, former_holder_is_excluded) {
  const auto former = open();
  ASSERT_TRUE(former->publish(step_entry(1)));
  ASSERT_TRUE(fence_writers(directory_));
  const auto next = open();
  ASSERT_EQ(next->steps().size(), 1U);
  ASSERT_TRUE(next->publish(step_entry(2)));
  EXPECT_FALSE(former->is_replaced());
  EXPECT_EQ(error_class(former->publish(step_entry(5))), ErrorClass::kPermission);
  EXPECT_TRUE(former->is_replaced());
  EXPECT_EQ(error_class(former->drop_before(2)), ErrorClass::kPermission);
  EXPECT_EQ(steps(), (Steps{1, 2}));
  EXPECT_TRUE(next->publish(step_entry(3)));
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
}

TEST_F(FenceTest, directory_without_commits_is_unchanged) {
  EXPECT_TRUE(fence_writers(directory_));
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(FenceTest, fence_leaves_no_files_and_keeps_permissions) {
  open();
  ASSERT_EQ(::chmod(commits().c_str(), 0664), 0);
  const std::string copy = commits() + ".tmp-0123456789abcdef";
  storage::write_pattern_file(copy, 100'000);  // of a holder that was killed
  ASSERT_TRUE(fence_writers(directory_));
  struct stat facts{};
  ASSERT_EQ(::stat(commits().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0664U);
  EXPECT_FALSE(std::filesystem::exists(copy));
  EXPECT_TRUE(open()->publish(step_entry(1)));
}

TEST_F(FenceTest, tables_behind_slots_are_copied) {
  const auto former = open();
  Steps expected;
  for (std::uint64_t step = 1; step < 400; ++step) {
    ASSERT_TRUE(former->publish(step_entry(step)));
    expected.push_back(step);
  }
  ASSERT_TRUE(fence_writers(directory_));
  EXPECT_EQ(steps(), expected);
}

// A former holder may publish at any moment of the copy, until it is fenced.
TEST_F(FenceTest, acknowledged_steps_survive) {
  std::mt19937_64 random(7);
  std::uint64_t step = 1;
  open();
  for (int round = 0; round < 60; ++round) {
    const auto former = open();
    std::atomic<std::uint64_t> acknowledged{0};
    std::thread publishing([&] {
      while (former->publish(step_entry(step)))
        acknowledged = step++;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    EXPECT_TRUE(fence_writers(directory_));
    const Steps found = steps();
    publishing.join();
    EXPECT_TRUE(former->is_replaced());
    EXPECT_GE(found.empty() ? 0 : found.back(), acknowledged.load());
    EXPECT_EQ(steps(), found) << "nothing is published after that";
    step = std::max(step, found.empty() ? 0 : found.back()) + 1;
  }
}

TEST_F(FenceTest, removed_file_is_reported) {
  const auto commit_log = open();
  ASSERT_TRUE(commit_log->publish(step_entry(1)));
  std::filesystem::rename(commits(), commits() + ".away");
  const auto published = commit_log->publish(step_entry(2));
  ASSERT_EQ(error_class(published), ErrorClass::kNotFound);
  EXPECT_EQ(published.error().path(), commits());
  std::filesystem::rename(commits() + ".away", commits());
  EXPECT_EQ(error_class(commit_log->publish(step_entry(3))), ErrorClass::kNotFound)
      << "a fenced log writes nothing more";
}

}  // namespace
}  // namespace forebay::write
