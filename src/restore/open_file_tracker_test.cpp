// SPDX-License-Identifier: Apache-2.0
#include "restore/open_file_tracker.hpp"

#include <cerrno>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/descriptor_limit_testing.hpp"
#include "base/testing.hpp"

namespace forebay::restore {
namespace {

constexpr std::chrono::minutes kLongTimeout(10);
constexpr std::chrono::milliseconds kShortTimeout(20);

class OpenFileTrackerTest : public ::testing::Test {
 protected:
  OpenFileTrackerTest() { std::ofstream(file_.path) << "data"; }

  /// Opens files until the limit of the process; the next attempt has failed.
  std::vector<std::shared_ptr<storage::File>> open_until_limit() {
    std::vector<std::shared_ptr<storage::File>> taken;
    for (auto one = files_.open(file_); one; one = files_.open(file_))
      taken.push_back(std::move(*one));
    return taken;
  }

  TemporaryDirectory directory_;
  const format::StepFile file_{.path = directory_ / "data"};
  OpenFileTracker files_;
};

TEST_F(OpenFileTrackerTest, open_waits_until_another_file_is_closed) {
  const ScopedDescriptorLimit few(8);
  auto taken = open_until_limit();
  ASSERT_FALSE(taken.empty());
  std::thread closing([&] {
    std::this_thread::sleep_for(kShortTimeout);
    taken.clear();
  });
  const auto opened = files_.open_with_timeout(file_, kLongTimeout);
  closing.join();
  EXPECT_TRUE(opened) << opened.error().message();
}

TEST_F(OpenFileTrackerTest, open_times_out) {
  const ScopedDescriptorLimit few(8);
  const auto taken = open_until_limit();
  ASSERT_FALSE(taken.empty());
  const auto opened = files_.open_with_timeout(file_, kShortTimeout);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorClass::kLimit);
  EXPECT_EQ(opened.error().error_number(), EMFILE);
}

TEST_F(OpenFileTrackerTest, open_does_not_wait_for_files_of_others) {
  const ScopedDescriptorLimit none(0);
  const auto opened = files_.open_with_timeout(file_, kLongTimeout);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().error_number(), EMFILE);
}

TEST_F(OpenFileTrackerTest, open_does_not_wait_for_a_missing_file) {
  const auto held = files_.open(file_);
  ASSERT_TRUE(held);
  const auto opened = files_.open_with_timeout({.path = directory_ / "nothing"}, kLongTimeout);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::restore
