// SPDX-License-Identifier: Apache-2.0
// Buffers: their placement, reuse of freed memory within its bound, no shared bytes, and a lifetime
// beyond the allocator.
#include "shm/buffer_allocator.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/testing.hpp"
#include "shm/memory_handle.hpp"
#include "shm/testing.hpp"

namespace forebay::shm {
namespace {

constexpr std::uint64_t kHugeBytes = 2_MiB;

class BufferAllocatorTest : public ::testing::Test {
 protected:
  Buffer allocate(std::uint64_t size_bytes, MemoryKind kind = MemoryKind::kHost) {
    auto buffer = source_->allocate(size_bytes, kind);
    EXPECT_TRUE(buffer) << buffer.error().message();
    return buffer ? std::move(*buffer) : Buffer();
  }

  std::shared_ptr<BufferAllocator> source_ = BufferAllocator::make(16_MiB);
};

TEST_F(BufferAllocatorTest, sizes_match_the_request_and_addresses_suit_direct_transfers) {
  for (const std::uint64_t size : std::vector<std::uint64_t>{
           1, 4095, 4096, 4097, 100'000, 1_MiB, 1_MiB + 1, kHugeBytes, kHugeBytes + 1, 5_MiB}) {
    const Buffer buffer = allocate(size);
    EXPECT_EQ(buffer.size(), size);
    const std::uint64_t alignment = size >= kHugeBytes ? kHugeBytes : kDirectAlignment;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment, 0U) << size;
    std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{9});
  }
}

TEST_F(BufferAllocatorTest, zero_bytes_are_an_empty_buffer) {
  const Buffer buffer = allocate(0);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(source_->counts().created_count, 0U);
}

TEST_F(BufferAllocatorTest, freed_memory_is_reused) {
  const std::byte* address = nullptr;
  {
    const Buffer first = allocate(5_MiB);
    address = first.data();
    EXPECT_EQ(source_->counts().allocated_bytes, 6_MiB);
  }
  EXPECT_EQ(source_->counts().cached_bytes, 6_MiB);
  const Buffer again = allocate(5_MiB + 17);
  EXPECT_EQ(again.data(), address);
  EXPECT_EQ(source_->counts().created_count, 1U);
  EXPECT_EQ(source_->counts().cached_bytes, 0U);
}

TEST_F(BufferAllocatorTest, acquire_returns_freed_memory_or_new_memory_without_pages) {
  auto region = source_->acquire("test", 3_MiB);
  ASSERT_TRUE(region) << region.error().message();
  EXPECT_EQ(region->prefaulted_bytes, 0U);
  EXPECT_EQ(source_->counts().allocated_bytes, 3_MiB);
  const std::byte* const address = region->memory.bytes().data();
  ASSERT_TRUE(region->memory.prefault({0, 3_MiB}));
  region->prefaulted_bytes = 3_MiB;
  source_->release(std::move(*region));
  EXPECT_EQ(source_->counts().allocated_bytes, 0U);
  EXPECT_EQ(source_->counts().cached_bytes, 3_MiB);
  const auto again = source_->acquire("test", 3_MiB);
  EXPECT_EQ(again->memory.bytes().data(), address);
  EXPECT_EQ(again->prefaulted_bytes, 3_MiB);
}

TEST_F(BufferAllocatorTest, partly_prefaulted_region_is_cached_for_acquire_only) {
  auto region = source_->acquire("test", 6_MiB);
  ASSERT_TRUE(region) << region.error().message();
  ASSERT_TRUE(region->memory.prefault({0, 2_MiB}));
  region->prefaulted_bytes = 2_MiB;
  source_->release(std::move(*region));
  EXPECT_EQ(source_->counts().cached_bytes, 2_MiB) << "only prefaulted bytes count";
  const Buffer buffer = allocate(6_MiB);
  EXPECT_EQ(source_->counts().created_count, 2U);
  const auto again = source_->acquire("test", 6_MiB);
  EXPECT_EQ(again->prefaulted_bytes, 2_MiB);
  EXPECT_EQ(source_->counts().created_count, 2U);
  EXPECT_EQ(source_->counts().cached_bytes, 0U);
}

TEST_F(BufferAllocatorTest, region_without_pages_is_not_cached) {
  source_->release(source_->acquire("test", 3_MiB).value());
  EXPECT_EQ(source_->counts().allocated_bytes, 0U);
  EXPECT_EQ(source_->counts().cached_bytes, 0U);
}

TEST_F(BufferAllocatorTest, memory_beyond_the_bound_does_not_evict_the_cache) {
  allocate(4_MiB);
  allocate(18_MiB);
  EXPECT_EQ(source_->counts().cached_bytes, 4_MiB);
}

TEST_F(BufferAllocatorTest, much_larger_memory_is_not_used) {
  allocate(16_MiB);
  const Buffer small = allocate(4_MiB);
  EXPECT_EQ(source_->counts().created_count, 2U);
  EXPECT_EQ(source_->counts().cached_bytes, 16_MiB);
}

TEST_F(BufferAllocatorTest, cache_is_bounded_and_evicts_the_oldest) {
  std::optional<Buffer> old = allocate(4_MiB);
  std::optional<Buffer> middle = allocate(6_MiB);
  std::optional<Buffer> recent = allocate(8_MiB);
  const std::size_t descriptors = open_descriptor_count();
  old.reset();
  middle.reset();
  EXPECT_EQ(source_->counts().cached_bytes, 10_MiB);
  recent.reset();
  EXPECT_EQ(source_->counts().cached_bytes, 14_MiB) << "the first one was evicted";
  EXPECT_EQ(source_->counts().allocated_bytes, 0U);
  EXPECT_EQ(open_descriptor_count(), descriptors - 1);
  allocate(20_MiB);
  EXPECT_LE(source_->counts().cached_bytes, 16_MiB);
}

TEST_F(BufferAllocatorTest, small_buffers_share_a_slab_and_release_it_together) {
  const std::size_t before = open_descriptor_count();
  std::vector<Buffer> buffers;
  for (int i = 0; i < 512; ++i)
    buffers.push_back(allocate(4096));
  EXPECT_EQ(source_->counts().created_count, 1U);
  EXPECT_EQ(open_descriptor_count(), before + 1);
  buffers.push_back(allocate(4096));
  EXPECT_EQ(source_->counts().created_count, 2U);
  buffers.clear();
  EXPECT_EQ(source_->counts().allocated_bytes, 0U);
  EXPECT_EQ(source_->counts().cached_bytes, 2 * kHugeBytes);
}

TEST_F(BufferAllocatorTest, locations_name_the_bytes) {
  for (const std::uint64_t size : std::vector<std::uint64_t>{5000, 3_MiB}) {
    const Buffer first = allocate(size);
    const Buffer second = allocate(size);
    for (const Buffer* buffer : {&first, &second}) {
      std::memset(buffer->data(), buffer == &first ? 1 : 2, size);
      const MemoryLocation place = location_of(*buffer);
      const auto memory = open_memory_handle(place.memory);
      ASSERT_TRUE(memory) << memory.error().message();
      std::vector<std::byte> seen(size);
      ASSERT_EQ(::pread(memory->get(), seen.data(), size, static_cast<off_t>(place.offset_bytes)),
                static_cast<ssize_t>(size));
      EXPECT_TRUE(std::equal(seen.begin(), seen.end(), buffer->bytes().begin()));
    }
  }
}

TEST_F(BufferAllocatorTest, released_memory_is_freed_although_others_map_it) {
  std::optional<Buffer> buffer = allocate(20_MiB);
  const auto memory = open_memory_handle(location_of(*buffer).memory);
  ASSERT_TRUE(memory);
  buffer->bytes()[0] = std::byte{1};
  buffer.reset();  // larger than the cache
  std::byte seen{9};
  ASSERT_EQ(::pread(memory->get(), &seen, 1, 0), 1);
  EXPECT_EQ(seen, std::byte{0});
}

TEST_F(BufferAllocatorTest, moving_leaves_an_empty_buffer_and_keeps_the_bytes) {
  Buffer first = allocate(10'000);
  first.bytes()[9'999] = std::byte{3};
  std::byte* const address = first.data();
  Buffer second = std::move(first);
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): that is the contract
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(second.data(), address);
  EXPECT_EQ(second.bytes()[9'999], std::byte{3});
  second = Buffer();
  EXPECT_EQ(source_->counts().allocated_bytes, 0U);
}

TEST_F(BufferAllocatorTest, spans_show_the_bytes) {
  const Buffer buffer = allocate(20);
  EXPECT_EQ(buffer.as<double>().size(), 2U);
  buffer.as<double>()[1] = 2.5;
  EXPECT_EQ(std::as_const(buffer).as<double>()[1], 2.5);
}

TEST_F(BufferAllocatorTest, buffer_outlives_its_allocator) {
  Buffer large = allocate(3_MiB);
  const Buffer small = allocate(100);
  const std::size_t descriptors = open_descriptor_count();
  source_->disable_cache();
  source_.reset();
  std::fill(large.bytes().begin(), large.bytes().end(), std::byte{5});
  small.bytes()[99] = std::byte{6};
  EXPECT_EQ(large.bytes().back(), std::byte{5});
  large = Buffer();
  EXPECT_EQ(open_descriptor_count(), descriptors - 1) << "no allocator is left to cache it";
}

TEST_F(BufferAllocatorTest, adopt_takes_the_buffer) {
  Buffer buffer = allocate(9'000);
  const std::byte* const address = buffer.data();
  AdoptedBuffer adopted = adopt(std::move(buffer), 8'192);
  EXPECT_TRUE(buffer.empty());  // NOLINT(bugprone-use-after-move): that is the contract
  EXPECT_TRUE(adopted.check());
  EXPECT_EQ(adopted.bytes().data(), address);
  EXPECT_EQ(adopted.bytes().size(), 8'192U);
  EXPECT_EQ(location_of(adopted).memory, location_of(adopted.buffer()).memory);
  const Buffer back = std::move(adopted).take();
  EXPECT_EQ(back.size(), 9'000U);
  EXPECT_EQ(adopt(allocate(7)).bytes().size(), 7U);
}

TEST_F(BufferAllocatorTest, adopting_more_than_the_size_is_refused) {
  const AdoptedBuffer adopted = adopt(allocate(100), 101);
  ASSERT_EQ(error_class(adopted.check()), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(adopted.check().error(), "101"));
  EXPECT_TRUE(adopted.bytes().empty());
}

TEST_F(BufferAllocatorTest, more_than_the_machine_has_is_an_error_without_a_leak) {
  const std::size_t before = open_descriptor_count();
  for (const unsigned bits : {44U, 46U, 50U, 63U}) {
    const auto buffer = source_->allocate(std::uint64_t{1} << bits, MemoryKind::kHost);
    EXPECT_EQ(error_class(buffer), ErrorClass::kLimit) << bits;
  }
  EXPECT_EQ(error_class(source_->allocate(~std::uint64_t{0}, MemoryKind::kHost)),
            ErrorClass::kLimit);
  EXPECT_EQ(open_descriptor_count(), before);
  EXPECT_EQ(source_->counts().allocated_bytes, 0U);
}

TEST_F(BufferAllocatorTest, pinned_memory_is_cached_separately) {
  auto pinned = source_->allocate(4096, MemoryKind::kPinned);
  if (!pinned) {
    EXPECT_EQ(pinned.error().kind(), ErrorClass::kLimit);
    GTEST_SKIP() << "this process may pin no memory: " << pinned.error().message();
  }
  EXPECT_EQ(pinned->kind(), MemoryKind::kPinned);
  const Buffer host = allocate(4096);
  EXPECT_NE(location_of(*pinned).memory, location_of(host).memory);
  *pinned = Buffer();
  const Buffer other = allocate(3_MiB);
  EXPECT_EQ(source_->counts().cached_bytes, kHugeBytes)
      << "pinned memory is not reused for other buffers";
  EXPECT_EQ(other.kind(), MemoryKind::kHost);
}

/// In a process limited to 32 descriptors.
int exhaust_descriptors() {
  const rlimit limit{32, 32};
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
  const auto source = BufferAllocator::make(0);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 40; ++i) {
    auto buffer = source->allocate(3_MiB, MemoryKind::kHost);
    if (!buffer) return buffer.error().kind() == ErrorClass::kLimit ? 0 : 3;
    buffers.push_back(std::move(*buffer));
  }
  return 4;
}

TEST_F(BufferAllocatorTest, exhausted_descriptors_are_a_limit_error) {
  EXPECT_EQ(ChildProcess(exhaust_descriptors).exit_code(), 0);
}

/// Allocates, fills and frees at random; a byte shared by two buffers shows as a wrong value.
void allocate_randomly(BufferAllocator& source, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Buffer> held;
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t size = 1 + random() % (random() % 8 == 0 ? 3_MiB : 40'000);
    auto buffer = source.allocate(size, MemoryKind::kHost);
    ASSERT_TRUE(buffer) << buffer.error().message();
    buffer->bytes().front() = buffer->bytes().back() = static_cast<std::byte>(seed);
    held.push_back(std::move(*buffer));
    if (held.size() < 8) continue;
    std::swap(held[random() % held.size()], held.back());
    ASSERT_EQ(held.back().bytes().front(), static_cast<std::byte>(seed));
    ASSERT_EQ(held.back().bytes().back(), static_cast<std::byte>(seed));
    held.pop_back();
  }
}

TEST_F(BufferAllocatorTest, threads_never_share_bytes) {
  const unsigned seed = std::random_device()() & 0xffffU;
  std::cout << "seed " << seed << "\n";
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([this, i, seed] { allocate_randomly(*source_, seed + i); });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(source_->counts().allocated_bytes, 0U);
  EXPECT_LE(source_->counts().cached_bytes, 16_MiB);
}

}  // namespace
}  // namespace forebay::shm
