// SPDX-License-Identifier: Apache-2.0
// WindowPool: what is kept of windows that come back, and who gets them.
#include "read/window_pool.hpp"

#include <forebay/range.hpp>

#include <optional>

#include <gtest/gtest.h>

namespace forebay::read {
namespace {

class WindowPoolTest : public ::testing::Test {
 protected:
  WindowPool::Lease lease(std::uint64_t size_bytes) {
    auto made = pool->lease(size_bytes);
    EXPECT_TRUE(made) << made.error().message();
    const auto mapped = made->map(size_bytes);
    EXPECT_TRUE(mapped) << mapped.error().message();
    return std::move(*made);
  }

  const std::shared_ptr<WindowPool> pool = std::make_shared<WindowPool>(16_MiB);
};

TEST_F(WindowPoolTest, what_is_leased_is_missing_until_it_comes_back) {
  {
    const auto held = lease(12_MiB);
    EXPECT_EQ(pool->available_bytes(), 4_MiB);
    EXPECT_FALSE(pool->lease(5_MiB)->map(5_MiB));
  }
  EXPECT_EQ(pool->available_bytes(), 16_MiB);
}

TEST_F(WindowPoolTest, a_larger_window_is_lent_while_there_is_plenty) {
  {
    const auto closed = lease(4_MiB);
  }
  EXPECT_EQ(lease(1_MiB).size_bytes(), 4_MiB);
  EXPECT_EQ(lease(512_KiB).size_bytes(), 512_KiB);
}

// Small sessions once sat on the large windows of closed ones, and there was nothing left to share.
TEST_F(WindowPoolTest, no_larger_window_is_lent_when_memory_gets_scarce) {
  const auto held = lease(8_MiB);
  {
    const auto closed = lease(4_MiB);
  }
  EXPECT_EQ(lease(1_MiB).size_bytes(), 1_MiB);
  EXPECT_EQ(lease(4_MiB).size_bytes(), 4_MiB);
}

}  // namespace
}  // namespace forebay::read
