// SPDX-License-Identifier: Apache-2.0
#include "shm/window.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "shm/testing.hpp"

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

// Room for huge pages, and a rest below one.
TEST(Window, sizes_that_are_not_a_multiple_of_a_huge_page) {
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

TEST(Window, mapping_the_same_size_again_returns_the_same_address) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto first = window->map(2 * page_bytes());
  auto larger = window->map(4 * page_bytes());
  auto again = window->map(2 * page_bytes());
  ASSERT_TRUE(first && larger && again);
  EXPECT_EQ(*first, *again);
  EXPECT_EQ(window->size_bytes(), 4 * page_bytes());
}

TEST(Window, too_large_size_is_an_error_with_the_size) {
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

// Simulates a machine with full memory: from now on this process cannot allocate memory from
// `offset_bytes` of any file on. Releasing (another mode) still works.
bool fail_fallocate_beyond(std::uint32_t offset_bytes) {
  constexpr auto kCall = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  constexpr auto kMode = static_cast<std::uint32_t>(offsetof(seccomp_data, args[1]));
  constexpr auto kOffset = static_cast<std::uint32_t>(offsetof(seccomp_data, args[2]));
  std::array<sock_filter, 8> rules{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCall),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kMode),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kOffset),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, offset_bytes, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  sock_fprog program{.len = static_cast<unsigned short>(rules.size()), .filter = rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::uint64_t allocated_bytes_of(const Descriptor& descriptor) {
  struct stat status{};
  return ::fstat(descriptor.get(), &status) == 0
             ? static_cast<std::uint64_t>(status.st_blocks) * 512
             : 0;
}

/// Returns the number of the failed step.
int grow_without_memory() {
  const std::uint64_t small = 2 * page_bytes();
  auto window = Window::create();
  auto base = window->map(small);
  if (!base) return 1;
  (*base)[small - 1] = std::byte{5};
  if (!fail_fallocate_beyond(5U << 20U)) return 2;
  auto large = window->map(16U << 20U);
  if (large || large.error().kind() != ErrorClass::kNoSpace) return 3;
  if (window->size_bytes() != small) return 4;
  auto shared = window->share(Protection::kReadOnly);
  if (allocated_bytes_of(*shared) != small) return 5;  // released, although the size cannot shrink
  auto medium = window->map(4U << 20U);  // less than the size that the failure has left
  if (!medium || (*medium)[small - 1] != std::byte{5}) return 6;
  if ((*medium)[(8U << 20U) - 1] != std::byte{0}) return 7;
  return window->size_bytes() == 4U << 20U && allocated_bytes_of(*shared) == 4U << 20U ? 0 : 8;
}

TEST(Window, failed_growth_releases_memory_and_can_be_retried) {
  ChildProcess child([] { return grow_without_memory(); });
  EXPECT_EQ(child.exit_code(), 0) << "see the steps of grow_without_memory()";
}

TEST(WindowView, sees_the_bytes_of_the_owner_across_the_end) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  const std::uint64_t size = 4 * page_bytes();
  auto base = window->map(size);
  ASSERT_TRUE(base);
  auto view = WindowView::attach(*window->share(Protection::kReadOnly));
  ASSERT_TRUE(view) << view.error().message();
  auto seen = view->map(size);
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_NE(*seen, *base);
  std::memcpy(*base + size - 4, "abcdefgh", 8);
  EXPECT_EQ(std::memcmp(*seen + size - 4, "abcdefgh", 8), 0);
  EXPECT_EQ(std::memcmp(*seen, "efgh", 4), 0);
}

TEST(WindowView, follows_growth_and_keeps_older_addresses) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto view = WindowView::attach(*window->share(Protection::kReadOnly));
  ASSERT_TRUE(view);
  ASSERT_TRUE(window->map(page_bytes()));
  auto small = view->map(page_bytes());
  ASSERT_TRUE(small);
  auto base = window->map(8 * page_bytes());
  ASSERT_TRUE(base);
  auto large = view->map(8 * page_bytes());
  ASSERT_TRUE(large);
  (*base)[3] = std::byte{33};
  EXPECT_EQ((*small)[3], std::byte{33});
  EXPECT_EQ((*large)[3], std::byte{33});
  EXPECT_EQ((*large)[8 * page_bytes() + 3], std::byte{33});
  EXPECT_EQ(*view->map(page_bytes()), *small);
}

TEST(WindowView, larger_size_than_the_window_is_damage) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto view = WindowView::attach(*window->share(Protection::kReadOnly));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->map(page_bytes()).error().kind(), ErrorClass::kDamage);
  ASSERT_TRUE(window->map(page_bytes()));
  EXPECT_TRUE(view->map(page_bytes()));
  EXPECT_EQ(view->map(0).error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ(view->map(page_bytes() - 1).error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ(view->map(2 * page_bytes()).error().kind(), ErrorClass::kDamage);
}

TEST(WindowView, outlives_the_owner) {
  auto window = std::optional(std::move(*Window::create()));
  auto base = window->map(page_bytes());
  ASSERT_TRUE(base);
  (*base)[0] = std::byte{12};
  auto view = WindowView::attach(*window->share(Protection::kReadOnly));
  ASSERT_TRUE(view);
  auto seen = view->map(page_bytes());
  ASSERT_TRUE(seen);
  window.reset();
  EXPECT_EQ((*seen)[0], std::byte{12});
}

TEST(WindowView, memory_shared_for_reading_cannot_be_written) {
  auto window = Window::create();
  ASSERT_TRUE(window);
  ASSERT_TRUE(window->map(page_bytes()));
  auto shared = window->share(Protection::kReadOnly);
  ASSERT_TRUE(shared);
  EXPECT_EQ(::mmap(nullptr, page_bytes(), PROT_WRITE, MAP_SHARED, shared->get(), 0), MAP_FAILED);
  EXPECT_EQ(errno, EACCES);
}

TEST(WindowView, ordinary_file_is_refused) {
  auto view = WindowView::attach(Descriptor(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)));
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().kind(), ErrorClass::kInvalidArgument);
}

}  // namespace
}  // namespace forebay::shm
