// SPDX-License-Identifier: Apache-2.0
// NodeMemory and its handles: alignment, when it has pages, and how long a handle is valid.
#include "shm/node_memory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sanitizer.hpp"
#include "base/testing.hpp"
#include "shm/double_mapping.hpp"
#include "shm/memfd.hpp"
#include "shm/memory_handle.hpp"
#include "shm/testing.hpp"

namespace forebay::shm {
namespace {

std::size_t resident_pages(std::span<const std::byte> bytes) {
  std::vector<unsigned char> pages(bytes.size() / page_bytes());
  EXPECT_EQ(::mincore(const_cast<std::byte*>(bytes.data()), bytes.size(), pages.data()), 0);
  return static_cast<std::size_t>(std::count_if(
      pages.begin(), pages.end(), [](unsigned char page) { return (page & 1U) != 0; }));
}

TEST(NodeMemory, is_aligned_for_huge_pages) {
  const auto memory = NodeMemory::create("forebay-test", 3_MiB);
  ASSERT_TRUE(memory) << memory.error().message();
  const std::uint64_t alignment = std::max(huge_page_bytes(), kDirectAlignment);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->bytes().data()) % alignment, 0U);
  EXPECT_EQ(memory->bytes().size(), 3_MiB);
}

TEST(NodeMemory, prefault_allocates_exactly_its_range) {
  auto memory = NodeMemory::create("forebay-test", 8_MiB);
  ASSERT_TRUE(memory);
  EXPECT_EQ(resident_pages(memory->bytes()), 0U);
  const ByteRange odd{2_MiB - kDirectAlignment, 2_MiB + 3 * kDirectAlignment};
  ASSERT_TRUE(memory->prefault(odd));
  EXPECT_EQ(resident_pages(memory->bytes().subspan(odd.offset, odd.size)), odd.size / page_bytes());
  EXPECT_EQ(resident_pages(memory->bytes().first(odd.offset)), 0U);
  EXPECT_EQ(resident_pages(memory->bytes().subspan(odd.end())), 0U);
  ASSERT_TRUE(memory->prefault({0, 8_MiB}));
  EXPECT_EQ(resident_pages(memory->bytes()), 8_MiB / page_bytes());
}

TEST(NodeMemory, prefaulting_again_keeps_the_bytes) {
  auto memory = NodeMemory::create("forebay-test", 4_MiB);
  ASSERT_TRUE(memory);
  ASSERT_TRUE(memory->prefault({0, kDirectAlignment}));
  memory->bytes()[7] = std::byte{7};
  ASSERT_TRUE(memory->prefault({0, 4_MiB}));
  EXPECT_EQ(memory->bytes()[7], std::byte{7});
  EXPECT_EQ(memory->bytes()[8], std::byte{0});
}

TEST(NodeMemory, more_than_the_machine_has_is_an_error_with_the_amount) {
  const std::uint64_t size = more_than_physical_memory();
  auto memory = NodeMemory::create("forebay-test", size);
  ASSERT_TRUE(memory) << memory.error().message();
  const Status taken = memory->prefault({0, size});
  ASSERT_EQ(error_class(taken), ErrorClass::kLimit);
  EXPECT_TRUE(message_contains(taken.error(), std::to_string(size))) << taken.error().message();
  EXPECT_EQ(resident_pages(memory->bytes().first(1_MiB)), 0U);
}

TEST(NodeMemory, exhausted_addresses_are_an_error_without_a_leak) {
  const std::size_t before = open_descriptor_count();
  const auto memory = NodeMemory::create("forebay-test", std::uint64_t{1} << 60U);
  EXPECT_EQ(error_class(memory), ErrorClass::kLimit);
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST(NodeMemory, moving_keeps_address_and_handle) {
  auto memory = NodeMemory::create("forebay-test", kDirectAlignment);
  ASSERT_TRUE(memory);
  const std::byte* const address = memory->bytes().data();
  const MemoryHandle name = memory->handle();
  const NodeMemory moved = std::move(*memory);
  EXPECT_EQ(moved.bytes().data(), address);
  EXPECT_EQ(moved.handle(), name);
}

/// In a process without privileges that may lock `bytes`.
int lock_with_limit(std::uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 2;
  if (::geteuid() == 0 && ::setuid(65534) != 0) return 3;
  auto memory = NodeMemory::create("forebay-test", 1_MiB);
  if (!memory || !memory->prefault({0, 1_MiB})) return 4;
  const Status locked = memory->lock_memory();
  if (locked) return 0;
  const bool is_expected = locked.error().kind() == ErrorClass::kLimit &&
                           message_contains(locked.error(), "RLIMIT_MEMLOCK") &&
                           message_contains(locked.error(), std::to_string(bytes));
  return is_expected ? 1 : 5;
}

TEST(NodeMemory, locking_more_than_allowed_names_the_limit) {
  // Sanitizers skip mlock(), which returns success.
  constexpr int kExpected = kThreadSanitizer || kAddressSanitizer ? 0 : 1;
  EXPECT_EQ(ChildProcess([] { return lock_with_limit(65536); }).exit_code(), kExpected);
  EXPECT_EQ(ChildProcess([] { return lock_with_limit(4096); }).exit_code(), kExpected);
}

TEST(NodeMemory, pins_what_is_allowed) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  if (::geteuid() != 0 && limit.rlim_max < 2_MiB)
    GTEST_SKIP() << "this process may pin only " << limit.rlim_max << " bytes";
  EXPECT_EQ(ChildProcess([] { return lock_with_limit(2_MiB); }).exit_code(), 0);
}

TEST(MemoryHandle, opens_the_same_memory) {
  auto memory = NodeMemory::create("forebay-test", 1_MiB);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->handle().bytes, 1_MiB);
  EXPECT_EQ(memory->handle().process, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(memory->prefault({0, 1_MiB}));
  const auto opened = open_memory_handle(memory->handle());
  ASSERT_TRUE(opened) << opened.error().message();
  memory->bytes()[5] = std::byte{42};
  std::array<std::byte, 8> seen{};
  ASSERT_EQ(::pread(opened->get(), seen.data(), seen.size(), 0), 8);
  EXPECT_EQ(seen[5], std::byte{42});
}

TEST(MemoryHandle, of_freed_memory_is_an_error) {
  auto memory = NodeMemory::create("forebay-test", 1_MiB);
  ASSERT_TRUE(memory);
  const MemoryHandle name = memory->handle();
  *memory = NodeMemory();
  const auto opened = open_memory_handle(name);
  ASSERT_EQ(error_class(opened), ErrorClass::kNotFound);
  EXPECT_TRUE(message_contains(opened.error(), "/fd/")) << opened.error().message();
}

TEST(MemoryHandle, of_a_reused_descriptor_number_is_an_error) {
  auto memory = NodeMemory::create("forebay-test", 1_MiB);
  ASSERT_TRUE(memory);
  const MemoryHandle name = memory->handle();
  *memory = NodeMemory();
  auto other = NodeMemory::create("forebay-test", 1_MiB);
  ASSERT_TRUE(other);
  ASSERT_EQ(other->handle().descriptor, name.descriptor) << "the lowest free number is used";
  EXPECT_EQ(error_class(open_memory_handle(name)), ErrorClass::kDamage);
  MemoryHandle larger = other->handle();
  larger.bytes += 1;
  EXPECT_EQ(error_class(open_memory_handle(larger)), ErrorClass::kDamage);
}

TEST(MemoryHandle, of_memory_that_could_shrink_is_refused) {
  const Descriptor unsealed(::memfd_create("forebay-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_TRUE(unsealed);
  ASSERT_EQ(::ftruncate(unsealed.get(), 4096), 0);
  const auto name = memory_handle_of(unsealed);
  ASSERT_TRUE(name);
  EXPECT_EQ(error_class(open_memory_handle(*name)), ErrorClass::kInvalidArgument);
}

// Opening the reading end of a pipe would wait for a writer.
TEST(MemoryHandle, of_a_pipe_does_not_block) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor reader(ends[0]);
  const Descriptor writer(ends[1]);
  const auto name = memory_handle_of(reader);
  ASSERT_TRUE(name);
  EXPECT_EQ(error_class(open_memory_handle(*name)), ErrorClass::kDamage);
}

TEST(MemoryHandle, of_a_missing_process_is_not_found) {
  ChildProcess gone([] { return 0; });
  const auto process = static_cast<std::uint32_t>(gone.pid());
  ASSERT_EQ(gone.exit_code(), 0);
  EXPECT_EQ(error_class(open_memory_handle({.process = process, .descriptor = 3})),
            ErrorClass::kNotFound);
  EXPECT_EQ(error_class(open_memory_handle({})), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::shm
