// SPDX-License-Identifier: Apache-2.0
#include "shm/window.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace forebay::shm {
namespace {

TEST(Window, is_contiguous_across_its_end) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  const std::uint64_t size = 16 * page_bytes();
  auto base = window->map(size);
  ASSERT_TRUE(base) << base.error().message();
  std::memset(*base + size - 8, 'a', 16);  // eight bytes before the end, eight behind it
  EXPECT_EQ(static_cast<char>((*base)[0]), 'a');
  EXPECT_EQ(static_cast<char>((*base)[7]), 'a');
  EXPECT_EQ(static_cast<char>((*base)[8]), '\0');
  EXPECT_EQ(static_cast<char>((*base)[2 * size - 1]), 'a');
}

TEST(Window, growing_keeps_bytes_and_old_addresses) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto small = window->map(page_bytes());
  ASSERT_TRUE(small);
  (*small)[5] = std::byte{42};
  auto large = window->map(8 * page_bytes());
  ASSERT_TRUE(large);
  EXPECT_EQ((*large)[5], std::byte{42});
  (*large)[6] = std::byte{43};
  EXPECT_EQ((*small)[6], std::byte{43});
  EXPECT_EQ(window->size_bytes(), 8 * page_bytes());
}

// Room for huge pages, and a rest that is none.
TEST(Window, large_sizes_that_are_no_multiple_of_a_huge_page) {
  const std::uint64_t first = (5ULL << 20U) + page_bytes();
  const std::uint64_t second = 2 * first;
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto small = window->map(first);
  ASSERT_TRUE(small) << small.error().message();
  for (std::uint64_t at = 0; at < first; at += page_bytes())
    (*small)[at] = static_cast<std::byte>(at / page_bytes());
  auto large = window->map(second);
  ASSERT_TRUE(large) << large.error().message();
  for (std::uint64_t at = 0; at < second; at += page_bytes()) {
    const std::byte expected =
        at < first ? static_cast<std::byte>(at / page_bytes()) : std::byte{0};
    ASSERT_EQ((*large)[at], expected) << at;
    ASSERT_EQ((*large)[at + second], expected) << at;
  }
  EXPECT_EQ(window->size_bytes(), second);
}

TEST(Window, mapping_a_known_size_again_gives_the_same_place) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto first = window->map(2 * page_bytes());
  auto larger = window->map(4 * page_bytes());
  auto again = window->map(2 * page_bytes());
  ASSERT_TRUE(first && larger && again);
  EXPECT_EQ(*first, *again);
  EXPECT_EQ(window->size_bytes(), 4 * page_bytes());
}

TEST(Window, too_much_memory_is_an_error_that_says_how_much) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto base = window->map(std::uint64_t{1} << 50U);
  ASSERT_FALSE(base);
  EXPECT_NE(base.error().message().find("1125899906842624"), std::string::npos)
      << base.error().message();
  EXPECT_TRUE(window->map(page_bytes()));
}

TEST(Window, can_be_moved) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto base = window->map(page_bytes());
  ASSERT_TRUE(base);
  (*base)[0] = std::byte{9};
  Window moved = std::move(*window);
  EXPECT_EQ((*moved.map(page_bytes()))[0], std::byte{9});
}

}  // namespace
}  // namespace forebay::shm
