// SPDX-License-Identifier: Apache-2.0
#include "restore/open_files.hpp"

#include <cerrno>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/few_files_testing.hpp"
#include "base/testing.hpp"

namespace forebay::restore {
namespace {

constexpr std::chrono::minutes kLongPatience(10);
constexpr std::chrono::milliseconds kShortPatience(20);

class OpenFilesTest : public ::testing::Test {
 protected:
  OpenFilesTest() { std::ofstream(file_.path) << "data"; }

  /// All that this process may open, and one that could not be.
  std::vector<std::shared_ptr<storage::File>> take_all() {
    std::vector<std::shared_ptr<storage::File>> taken;
    for (auto one = files_.open(file_); one; one = files_.open(file_))
      taken.push_back(std::move(*one));
    return taken;
  }

  TemporaryFolder folder_;
  const format::StepFile file_{.path = folder_ / "data"};
  OpenFiles files_;
};

TEST_F(OpenFilesTest, a_file_is_waited_for_until_another_is_closed) {
  const FewFiles few(8);
  auto taken = take_all();
  ASSERT_FALSE(taken.empty());
  std::thread closing([&] {
    std::this_thread::sleep_for(kShortPatience);
    taken.clear();
  });
  const auto opened = files_.open_patiently(file_, kLongPatience);
  closing.join();
  EXPECT_TRUE(opened) << opened.error().message();
}

TEST_F(OpenFilesTest, waiting_ends) {
  const FewFiles few(8);
  const auto taken = take_all();
  ASSERT_FALSE(taken.empty());
  const auto opened = files_.open_patiently(file_, kShortPatience);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorClass::kLimit);
  EXPECT_EQ(opened.error().error_number(), EMFILE);
}

TEST_F(OpenFilesTest, nobody_waits_for_files_of_others) {
  const FewFiles none(0);
  const auto opened = files_.open_patiently(file_, kLongPatience);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().error_number(), EMFILE);
}

TEST_F(OpenFilesTest, a_file_that_is_missing_is_not_waited_for) {
  const auto held = files_.open(file_);
  ASSERT_TRUE(held);
  const auto opened = files_.open_patiently({.path = folder_ / "nothing"}, kLongPatience);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::restore
