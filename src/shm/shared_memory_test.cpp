// SPDX-License-Identifier: Apache-2.0
#include "shm/shared_memory.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "shm/testing.hpp"

namespace forebay::shm {
namespace {

constexpr std::uint64_t kSizeBytes = 100'000;  // not a multiple of a page

TEST(SharedMemory, is_reserved_zeros) {
  auto memory = SharedMemory::create("forebay-test", kSizeBytes);
  ASSERT_TRUE(memory) << memory.error().message();
  ASSERT_EQ(memory->bytes().size(), kSizeBytes);
  EXPECT_TRUE(std::all_of(memory->bytes().begin(), memory->bytes().end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
  struct stat status{};
  ASSERT_EQ(::fstat(memory->descriptor().get(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, static_cast<blkcnt_t>(kSizeBytes));
}

TEST(SharedMemory, both_sides_see_the_same_bytes) {
  auto owner = SharedMemory::create("forebay-test", kSizeBytes);
  ASSERT_TRUE(owner);
  auto client = SharedMemory::attach(*owner->share(Protection::kReadWrite), kSizeBytes,
                                     Protection::kReadWrite);
  auto reader =
      SharedMemory::attach(*owner->share(Protection::kReadOnly), kSizeBytes, Protection::kReadOnly);
  ASSERT_TRUE(client && reader);
  client->bytes().back() = std::byte{7};
  EXPECT_EQ(owner->bytes().back(), std::byte{7});
  EXPECT_EQ(reader->bytes().back(), std::byte{7});
}

TEST(SharedMemory, shared_for_reading_cannot_be_mapped_writable) {
  auto owner = SharedMemory::create("forebay-test", kSizeBytes);
  ASSERT_TRUE(owner);
  auto shared = owner->share(Protection::kReadOnly);
  ASSERT_TRUE(shared) << shared.error().message();
  EXPECT_EQ(::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, shared->get(), 0), MAP_FAILED);
  EXPECT_EQ(errno, EACCES);
  EXPECT_LT(::ftruncate(shared->get(), 1 << 20U), 0);
  auto client = SharedMemory::attach(std::move(*shared), kSizeBytes, Protection::kReadWrite);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind(), ErrorClass::kPermission);
}

TEST(SharedMemory, fewer_bytes_than_expected_are_damage) {
  auto owner = SharedMemory::create("forebay-test", kSizeBytes);
  ASSERT_TRUE(owner);
  auto client = SharedMemory::attach(*owner->share(Protection::kReadOnly), kSizeBytes + 1,
                                     Protection::kReadOnly);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind(), ErrorClass::kDamage);
  EXPECT_NE(client.error().message().find("100001"), std::string::npos) << client.error().message();
}

TEST(SharedMemory, attaching_zero_bytes_is_refused) {
  auto owner = SharedMemory::create("forebay-test", kSizeBytes);
  ASSERT_TRUE(owner);
  auto client =
      SharedMemory::attach(*owner->share(Protection::kReadOnly), 0, Protection::kReadOnly);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind(), ErrorClass::kInvalidArgument);
}

TEST(SharedMemory, cannot_be_shrunk_by_its_owner) {
  auto owner = SharedMemory::create("forebay-test", kSizeBytes);
  ASSERT_TRUE(owner);
  EXPECT_LT(::ftruncate(owner->descriptor().get(), 1), 0);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemory, memory_that_could_shrink_is_refused) {
  Descriptor unsealed(::memfd_create("forebay-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_TRUE(unsealed);
  ASSERT_EQ(::ftruncate(unsealed.get(), kSizeBytes), 0);
  Descriptor no_memory(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(no_memory);
  for (Descriptor* bad : {&unsealed, &no_memory}) {
    auto client = SharedMemory::attach(std::move(*bad), 1, Protection::kReadOnly);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().kind(), ErrorClass::kInvalidArgument) << client.error().message();
  }
}

TEST(SharedMemory, too_large_size_is_an_error_with_the_size_and_no_leak) {
  const std::size_t before = open_descriptor_count();
  auto memory = SharedMemory::create("forebay-test", std::uint64_t{1} << 50U);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().kind(), ErrorClass::kLimit);
  EXPECT_NE(memory.error().message().find("1125899906842624"), std::string::npos);
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST(SharedMemory, moving_keeps_the_addresses) {
  auto memory = SharedMemory::create("forebay-test", kSizeBytes);
  ASSERT_TRUE(memory);
  const std::byte* const before = memory->bytes().data();
  const SharedMemory moved = std::move(*memory);
  EXPECT_EQ(moved.bytes().data(), before);
  EXPECT_EQ(moved.bytes().size(), kSizeBytes);
}

}  // namespace
}  // namespace forebay::shm
