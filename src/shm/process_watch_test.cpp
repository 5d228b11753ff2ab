// SPDX-License-Identifier: Apache-2.0
#include "shm/process_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "shm/doorbell.hpp"
#include "shm/testing.hpp"

namespace forebay::shm {
namespace {

TEST(ProcessWatch, detects_a_death_by_signal) {
  ChildProcess child([] {
    ::pause();
    return 0;
  });
  auto watch = watch_process(child.pid());
  ASSERT_TRUE(watch) << watch.error().message();
  EXPECT_FALSE(is_readable(watch->get()));
  child.kill();
  EXPECT_TRUE(wait_until_readable(watch->get()));
}

TEST(ProcessWatch, detects_an_ordinary_exit) {
  auto bell = Doorbell::create();
  ASSERT_TRUE(bell);
  ChildProcess child([&] { return bell->wait(test_deadline()) ? 3 : 1; });
  auto watch = watch_process(child.pid());
  ASSERT_TRUE(watch);
  EXPECT_FALSE(is_readable(watch->get()));
  bell->ring();
  EXPECT_TRUE(wait_until_readable(watch->get()));
  EXPECT_EQ(child.exit_code(), 3);
}

TEST(ProcessWatch, ended_process_is_not_found) {
  ChildProcess child([] { return 0; });
  const pid_t pid = child.pid();
  ASSERT_EQ(child.exit_code(), 0);
  auto watch = watch_process(pid);
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().kind(), ErrorClass::kNotFound);
  EXPECT_NE(watch.error().message().find(std::to_string(pid)), std::string::npos);
}

TEST(ProcessWatch, invalid_process_number_is_refused) {
  auto watch = watch_process(0);
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().kind(), ErrorClass::kInvalidArgument);
}

}  // namespace
}  // namespace forebay::shm
