// SPDX-License-Identifier: Apache-2.0
// The buffer pool and its free list: no buffer is acquired twice, none is lost, and waiters are
// woken.
#include "storage/buffer_pool.hpp"

#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace forebay::storage {
namespace {

/// The variant of pools, and the one without padding of written data.
template <class Stack>
class IndexStackTest : public testing::Test {};
using Stacks = testing::Types<IndexStack, PaddedIndexStack<alignof(std::uint64_t)>>;
TYPED_TEST_SUITE(IndexStackTest, Stacks, );

TYPED_TEST(IndexStackTest, gives_each_index_once) {
  TypeParam stack(5);
  std::set<std::uint32_t> seen;
  while (const auto index = stack.pop())
    seen.insert(*index);
  EXPECT_EQ(seen, (std::set<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_FALSE(stack.pop());
  stack.push(3);
  EXPECT_EQ(stack.pop(), 3U);
}

TYPED_TEST(IndexStackTest, zero_capacity_is_always_empty) {
  TypeParam stack(0);
  EXPECT_FALSE(stack.pop());
}

TYPED_TEST(IndexStackTest, has_links_for_every_index) {
  constexpr std::uint32_t kIndices = 1000;
  TypeParam stack(kIndices);
  std::set<std::uint32_t> seen;
  while (const auto index = stack.pop())
    seen.insert(*index);
  EXPECT_EQ(seen.size(), kIndices);
  EXPECT_EQ(*seen.rbegin(), kIndices - 1);
}

TEST(IndexStack, occupies_separate_cache_lines) {
  EXPECT_EQ(alignof(IndexStack), kFalseSharingBytes);
  EXPECT_EQ(sizeof(IndexStack) % kFalseSharingBytes, 0U);
  EXPECT_LT(2 * sizeof(PaddedIndexStack<alignof(std::uint64_t)>), 64U);
}

/// Pops indexes from a stack and pushes them back, and counts those with two owners: each index has
/// a mark that only its owner sets and clears.
template <class Stack>
class OwnershipCheck {
 public:
  explicit OwnershipCheck(Stack& stack) : stack_(stack), owned_(stack.capacity()) {}

  std::optional<std::uint32_t> take() {
    const auto index = stack_.pop();
    if (index && owned_[*index].exchange(1) != 0) ++violations_;
    return index;
  }
  void give(std::optional<std::uint32_t> index) {
    if (!index) return;
    if (owned_[*index].exchange(0) != 1) ++violations_;
    stack_.push(*index);
  }
  /// Pops two and pushes the first one back first: the pattern in which ABA gives an index two
  /// owners.
  void pop_two_push_two() {
    const auto first = take();
    const auto second = take();
    give(first);
    give(second);
  }
  int violations() const { return violations_.load(); }

 private:
  Stack& stack_;
  std::vector<std::atomic<int>> owned_;
  std::atomic<int> violations_{0};
};

/// Runs `work` many times on each of a few threads at once.
template <class Work>
void run_on_threads(int rounds, Work work) {
  constexpr int kThreads = 4;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([rounds, thread, &work] {
      for (int round = 0; round < rounds; ++round)
        work(thread);
    });
  }
}

TYPED_TEST(IndexStackTest, no_index_has_two_owners_under_contention) {
  constexpr std::uint32_t kIndices = 4;
  TypeParam stack(kIndices);
  OwnershipCheck check(stack);
  run_on_threads(20'000, [&](int /*thread*/) { check.pop_two_push_two(); });
  EXPECT_EQ(check.violations(), 0);
  std::set<std::uint32_t> left;
  while (const auto index = stack.pop())
    left.insert(*index);
  EXPECT_EQ(left.size(), kIndices);
}

TEST(BufferPool, arena_is_aligned_and_prefaulted) {
  const auto pool = BufferPool::create({.buffer_bytes = 1 << 20, .count = 5});
  ASSERT_TRUE(pool) << pool.error().message();
  const std::span<std::byte> arena = (*pool)->arena();
  EXPECT_EQ(arena.size(), 5U << 20U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data()) % kArenaAlignmentBytes, 0U);
  std::vector<unsigned char> resident(arena.size() / 4096);
  ASSERT_EQ(::mincore(arena.data(), arena.size(), resident.data()), 0);
  for (const unsigned char page : resident)
    ASSERT_EQ(page & 1U, 1U);
}

TEST(BufferPool, buffers_do_not_overlap_and_are_reused) {
  const auto pool = BufferPool::create({.buffer_bytes = 10'000, .count = 3});
  ASSERT_TRUE(pool);
  EXPECT_EQ((*pool)->buffer_bytes(), 12'288U);
  EXPECT_EQ((*pool)->count(), 3U);
  std::set<std::byte*> addresses;
  {
    std::vector<Buffer> buffers;
    while (auto buffer = (*pool)->try_acquire())
      buffers.push_back(std::move(*buffer));
    ASSERT_EQ(buffers.size(), 3U);
    for (const Buffer& buffer : buffers) {
      EXPECT_EQ(buffer.bytes().size(), 12'288U);
      EXPECT_EQ(buffer.bytes().data(),
                (*pool)->arena().data() + std::size_t{12'288} * buffer.index());
      addresses.insert(buffer.bytes().data());
    }
    EXPECT_EQ(addresses.size(), 3U);
  }
  EXPECT_TRUE((*pool)->try_acquire());
}

TEST(BufferPool, moved_and_released_handles_return_their_buffer_once) {
  const auto pool = BufferPool::create({.buffer_bytes = 4096, .count = 2});
  ASSERT_TRUE(pool);
  std::optional<Buffer> first = (*pool)->try_acquire();
  std::optional<Buffer> second = (*pool)->try_acquire();
  Buffer moved = std::move(*first);
  first.reset();
  EXPECT_FALSE((*pool)->try_acquire());
  moved = std::move(*second);  // returns the first one
  second.reset();
  EXPECT_TRUE((*pool)->try_acquire());
  moved.release();
  moved.release();
  EXPECT_TRUE(moved.bytes().empty());
  std::vector<Buffer> all_of_them;
  while (auto buffer = (*pool)->try_acquire())
    all_of_them.push_back(std::move(*buffer));
  EXPECT_EQ(all_of_them.size(), 2U);
}

TEST(BufferPool, acquire_returns_nothing_at_the_deadline) {
  const auto pool = BufferPool::create({.buffer_bytes = 4096, .count = 1});
  ASSERT_TRUE(pool);
  const auto held = (*pool)->acquire(std::nullopt);
  EXPECT_TRUE(held);
  EXPECT_FALSE((*pool)->acquire(kDoNotBlock));
  EXPECT_FALSE((*pool)->acquire(SteadyClock::shared().now() + std::chrono::milliseconds(2)));
}

TEST(BufferPool, acquire_waits_until_another_thread_releases) {
  const auto pool = BufferPool::create({.buffer_bytes = 4096, .count = 1});
  ASSERT_TRUE(pool);
  for (int round = 0; round < 200; ++round) {
    std::optional<Buffer> held = (*pool)->try_acquire();
    ASSERT_TRUE(held);
    std::jthread releaser([&] { held->release(); });
    EXPECT_TRUE((*pool)->acquire(std::nullopt));
  }
}

TEST(BufferPool, impossible_size_is_a_limit_error) {
  const auto huge = BufferPool::create({.buffer_bytes = std::size_t{1} << 50U, .count = 1000});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().kind(), ErrorClass::kLimit);
  const auto overflow = BufferPool::create({.buffer_bytes = std::size_t{1} << 62U, .count = 1000});
  EXPECT_FALSE(overflow);
}

TEST(BufferPool, many_threads_share_few_buffers) {
  const auto pool = BufferPool::create({.buffer_bytes = 4096, .count = 2});
  ASSERT_TRUE(pool);
  std::atomic<int> violations{0};
  run_on_threads(3000, [&](int thread) {
    const auto buffer = (*pool)->acquire(std::nullopt);
    // Plain writes: a buffer with two owners is a data race for the sanitizer, and is counted here.
    const auto mark = static_cast<std::byte>(thread + 1);
    buffer->bytes().front() = mark;
    buffer->bytes().back() = mark;
    if (buffer->bytes().front() != mark) ++violations;
  });
  EXPECT_EQ(violations.load(), 0);
}

}  // namespace
}  // namespace forebay::storage
