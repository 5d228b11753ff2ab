// SPDX-License-Identifier: Apache-2.0
// Discarded memory can be used as before, and costs as much as fresh memory.
#include "bench/engine/pages.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "storage/buffer_pool.hpp"

namespace forebay::bench::engine {
namespace {

constexpr std::size_t kPageBytes = 4096;

class Pages : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(pool_) << pool_.error().message();
    memory_ = (*pool_)->arena();
    std::ranges::fill(memory_, std::byte{7});
  }

  /// How many pages of the memory are resident.
  std::size_t resident() const {
    std::vector<unsigned char> pages(memory_.size() / kPageBytes);
    EXPECT_EQ(::mincore(memory_.data(), memory_.size(), pages.data()), 0);
    return static_cast<std::size_t>(
        std::ranges::count_if(pages, [](unsigned char page) { return (page & 1U) != 0; }));
  }
  bool is_zero() const {
    return std::ranges::all_of(memory_, [](std::byte byte) { return byte == std::byte{0}; });
  }

  Result<std::unique_ptr<storage::BufferPool>> pool_ =
      storage::BufferPool::create({.buffer_bytes = 2U << 20U, .count = 2});
  std::span<std::byte> memory_;
};

TEST_F(Pages, discarded_pages_are_allocated_on_use) {
  ASSERT_EQ(resident(), memory_.size() / kPageBytes);
  ASSERT_TRUE(discard_pages(memory_));
  EXPECT_EQ(resident(), 0U);
  memory_[5 * kPageBytes] = std::byte{1};
  EXPECT_EQ(resident(), 1U);
  memory_[5 * kPageBytes] = std::byte{0};
  EXPECT_TRUE(is_zero());
}

TEST_F(Pages, discarding_a_part_keeps_the_rest) {
  ASSERT_TRUE(discard_pages(memory_.first(kPageBytes)));
  EXPECT_EQ(memory_[0], std::byte{0});
  EXPECT_EQ(memory_[kPageBytes], std::byte{7});
}

TEST_F(Pages, split_pages_are_resident_at_once) {
  ASSERT_TRUE(split_huge_pages(memory_));
  EXPECT_EQ(resident(), memory_.size() / kPageBytes);
  EXPECT_TRUE(is_zero());
}

TEST_F(Pages, unaligned_memory_fails) {
  const std::span<std::byte> odd = memory_.subspan(1, kPageBytes);
  EXPECT_FALSE(discard_pages(odd));
  EXPECT_EQ(memory_[1], std::byte{7});
}

}  // namespace
}  // namespace forebay::bench::engine
