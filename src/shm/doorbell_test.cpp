// SPDX-License-Identifier: Apache-2.0
#include "shm/doorbell.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "shm/readiness.hpp"
#include "shm/testing.hpp"

namespace forebay::shm {
namespace {

TEST(Doorbell, is_readable_until_cleared) {
  auto bell = Doorbell::create();
  ASSERT_TRUE(bell);
  EXPECT_FALSE(bell->wait(kDoNotBlock));
  bell->ring();
  bell->ring();
  EXPECT_TRUE(bell->wait(kDoNotBlock));
  EXPECT_TRUE(bell->wait({}));
  bell->clear();
  EXPECT_FALSE(bell->wait(short_deadline()));
  bell->clear();  // not rung: does not block
}

TEST(Doorbell, wakes_a_sleeper_through_a_passed_descriptor) {
  auto bell = Doorbell::create();
  ASSERT_TRUE(bell);
  auto passed = Doorbell::from(*bell->descriptor().duplicate());
  ASSERT_TRUE(passed);
  std::thread other([&] { passed->ring(); });
  EXPECT_TRUE(bell->wait(test_deadline()));
  other.join();
}

TEST(Doorbell, counter_overflow_neither_blocks_nor_loses_the_ring) {
  auto bell = Doorbell::create();
  ASSERT_TRUE(bell);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - 1;
  ASSERT_EQ(::write(bell->descriptor().get(), &most, sizeof most),
            static_cast<ssize_t>(sizeof most));
  bell->ring();
  EXPECT_TRUE(bell->wait(kDoNotBlock));
}

TEST(Doorbell, descriptor_that_could_block_is_refused) {
  auto blocking = Doorbell::from(Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  ASSERT_FALSE(blocking);
  EXPECT_EQ(blocking.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_FALSE(Doorbell::from(Descriptor()));
}

TEST(Readiness, wait_readable_returns_the_first_readable) {
  auto first = Doorbell::create();
  auto second = Doorbell::create();
  ASSERT_TRUE(first && second);
  const std::array<int, 3> descriptors{-1, first->descriptor().get(), second->descriptor().get()};
  EXPECT_EQ(wait_readable(descriptors, short_deadline()), std::nullopt);
  second->ring();
  EXPECT_EQ(wait_readable(descriptors, test_deadline()), 2U);
  first->ring();
  EXPECT_EQ(wait_readable(descriptors, test_deadline()), 1U);
}

TEST(Readiness, any_deadline_is_possible) {
  auto bell = Doorbell::create();
  ASSERT_TRUE(bell);
  EXPECT_FALSE(bell->wait(TimePoint::min()));
  bell->ring();
  EXPECT_TRUE(bell->wait(TimePoint::max()));
}

}  // namespace
}  // namespace forebay::shm
