// SPDX-License-Identifier: Apache-2.0
// A writer that was taken for dead and goes on: what it was told is there is there, and nothing
// that its successor has published is lost.
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
#include "format/commits_file.hpp"
#include "storage/testing.hpp"
#include "write/publisher.hpp"

namespace forebay::write {
namespace {

format::StepEntry fenced_entry(std::uint64_t step) {
  return {.step = step,
          .group = step,
          .files = {{.file = 0, .index = {.offset = 4096, .bytes = 200, .checksum = step}}}};
}

class Fence : public ::testing::Test {
 protected:
  std::unique_ptr<Publisher> open() {
    auto publisher = Publisher::open(folder_);
    EXPECT_TRUE(publisher) << publisher.error().message();
    return std::move(*publisher);
  }
  /// What a reader finds.
  std::vector<std::uint64_t> steps() const {
    const auto file = storage::must_open(commits());
    const auto loaded = format::load_commits(*file);
    EXPECT_TRUE(loaded);
    std::vector<std::uint64_t> steps;
    for (const format::StepEntry& step : loaded->steps)
      steps.push_back(step.step);
    return steps;
  }
  std::string commits() const { return folder_ + "/commits"; }

  const TemporaryFolder parent_;
  const std::string folder_ = parent_ / "run.fb";
};
using Steps = std::vector<std::uint64_t>;

TEST_F(Fence, keeps_out_who_had_the_file_open) {
  const auto former = open();
  ASSERT_TRUE(former->publish(fenced_entry(1)));
  ASSERT_TRUE(fence_commits(folder_));
  const auto next = open();
  ASSERT_EQ(next->steps().size(), 1U);
  ASSERT_TRUE(next->publish(fenced_entry(2)));
  EXPECT_FALSE(former->is_replaced());
  EXPECT_EQ(error_class(former->publish(fenced_entry(5))), ErrorClass::kPermission);
  EXPECT_TRUE(former->is_replaced());
  EXPECT_EQ(error_class(former->drop_before(2)), ErrorClass::kPermission);
  EXPECT_EQ(steps(), (Steps{1, 2}));
  EXPECT_TRUE(next->publish(fenced_entry(3)));
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
}

TEST_F(Fence, of_a_folder_without_commits_is_nothing_to_do) {
  EXPECT_TRUE(fence_commits(folder_));
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(Fence, leaves_nothing_else_behind_and_lets_in_whom_it_let_in_before) {
  open();
  ASSERT_EQ(::chmod(commits().c_str(), 0664), 0);
  const std::string copy = commits() + ".tmp-0123456789abcdef";
  storage::write_pattern_file(copy, 100'000);  // of one that was killed
  ASSERT_TRUE(fence_commits(folder_));
  struct stat facts{};
  ASSERT_EQ(::stat(commits().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0664U);
  EXPECT_FALSE(std::filesystem::exists(copy));
  EXPECT_TRUE(open()->publish(fenced_entry(1)));
}

TEST_F(Fence, copies_tables_that_lie_behind_the_slots) {
  const auto former = open();
  Steps expected;
  for (std::uint64_t step = 1; step < 400; ++step) {
    ASSERT_TRUE(former->publish(fenced_entry(step)));
    expected.push_back(step);
  }
  ASSERT_TRUE(fence_commits(folder_));
  EXPECT_EQ(steps(), expected);
}

// Until it is kept out a former writer may publish at any moment of the copying.
TEST_F(Fence, loses_no_step_that_was_told_to_be_there) {
  std::mt19937_64 random(7);
  std::uint64_t step = 1;
  open();
  for (int round = 0; round < 60; ++round) {
    const auto former = open();
    std::atomic<std::uint64_t> told{0};
    std::thread publishing([&] {
      while (former->publish(fenced_entry(step)))
        told = step++;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    EXPECT_TRUE(fence_commits(folder_));
    const Steps found = steps();
    publishing.join();
    EXPECT_TRUE(former->is_replaced());
    EXPECT_GE(found.empty() ? 0 : found.back(), told.load());
    EXPECT_EQ(steps(), found) << "nothing comes after that";
    step = std::max(step, found.empty() ? 0 : found.back()) + 1;
  }
}

TEST_F(Fence, a_file_that_was_removed_is_told) {
  const auto publisher = open();
  ASSERT_TRUE(publisher->publish(fenced_entry(1)));
  std::filesystem::rename(commits(), commits() + ".away");
  const auto published = publisher->publish(fenced_entry(2));
  ASSERT_EQ(error_class(published), ErrorClass::kNotFound);
  EXPECT_EQ(published.error().path(), commits());
  std::filesystem::rename(commits() + ".away", commits());
  EXPECT_EQ(error_class(publisher->publish(fenced_entry(3))), ErrorClass::kNotFound)
      << "who has looked away once does not go on";
}

}  // namespace
}  // namespace forebay::write
