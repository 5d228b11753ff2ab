// SPDX-License-Identifier: Apache-2.0
#include "shm/process_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "shm/doorbell.hpp"
#include "shm/testing.hpp"

namespace forebay::shm {
namespace {

TEST(ProcessWatch, tells_of_a_death_by_signal) {
  Child child([] {
    ::pause();
    return 0;
  });
  auto watch = watch_process(child.pid());
  ASSERT_TRUE(watch) << watch.error().message();
  EXPECT_FALSE(is_readable(watch->get()));
  child.kill();
  EXPECT_TRUE(becomes_readable(watch->get()));
}

TEST(ProcessWatch, tells_of_an_ordinary_end) {
  auto bell = Doorbell::create();
  ASSERT_TRUE(bell);
  Child child([&] { return bell->wait(in_a_minute()) ? 3 : 1; });
  auto watch = watch_process(child.pid());
  ASSERT_TRUE(watch);
  EXPECT_FALSE(is_readable(watch->get()));
  bell->ring();
  EXPECT_TRUE(becomes_readable(watch->get()));
  EXPECT_EQ(child.result(), 3);
}

TEST(ProcessWatch, process_that_is_gone_is_not_found) {
  Child child([] { return 0; });
  const pid_t pid = child.pid();
  ASSERT_EQ(child.result(), 0);
  auto watch = watch_process(pid);
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().kind(), ErrorClass::kNotFound);
  EXPECT_NE(watch.error().message().find(std::to_string(pid)), std::string::npos);
}

TEST(ProcessWatch, number_that_no_process_can_have_is_refused) {
  auto watch = watch_process(0);
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().kind(), ErrorClass::kInvalidArgument);
}

}  // namespace
}  // namespace forebay::shm
