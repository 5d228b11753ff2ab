// SPDX-License-Identifier: Apache-2.0
// WindowPool: which returned windows are kept, and which sessions get them.
#include "read/window_pool.hpp"

#include <forebay/range.hpp>

#include <optional>

#include <gtest/gtest.h>

namespace forebay::read {
namespace {

class WindowPoolTest : public ::testing::Test {
 protected:
  WindowPool::Allocation allocate(std::uint64_t size_bytes) {
    auto made = pool->allocate(size_bytes);
    EXPECT_TRUE(made) << made.error().message();
    const auto mapped = made->map(size_bytes);
    EXPECT_TRUE(mapped) << mapped.error().message();
    return std::move(*made);
  }

  const std::shared_ptr<WindowPool> pool = std::make_shared<WindowPool>(16_MiB);
};

TEST_F(WindowPoolTest, allocated_bytes_are_unavailable_until_returned) {
  {
    const auto held = allocate(12_MiB);
    EXPECT_EQ(pool->available_bytes(), 4_MiB);
    EXPECT_FALSE(pool->allocate(5_MiB)->map(5_MiB));
  }
  EXPECT_EQ(pool->available_bytes(), 16_MiB);
}

TEST_F(WindowPoolTest, larger_window_is_lent_while_half_the_budget_is_free) {
  {
    const auto closed = allocate(4_MiB);
  }
  EXPECT_EQ(allocate(1_MiB).size_bytes(), 4_MiB);
  EXPECT_EQ(allocate(512_KiB).size_bytes(), 512_KiB);
}

// Small sessions once held the large windows of closed ones, which left no memory for others.
TEST_F(WindowPoolTest, larger_window_is_not_lent_when_memory_is_scarce) {
  const auto held = allocate(8_MiB);
  {
    const auto closed = allocate(4_MiB);
  }
  EXPECT_EQ(allocate(1_MiB).size_bytes(), 1_MiB);
  EXPECT_EQ(allocate(4_MiB).size_bytes(), 4_MiB);
}

}  // namespace
}  // namespace forebay::read
