// SPDX-License-Identifier: Apache-2.0
// Memory that can be named: where it lies, when it is there, and what a name is worth later.
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
#include "shm/memory_name.hpp"
#include "shm/testing.hpp"

namespace forebay::shm {
namespace {

std::size_t resident_pages(std::span<const std::byte> bytes) {
  std::vector<unsigned char> pages(bytes.size() / page_bytes());
  EXPECT_EQ(::mincore(const_cast<std::byte*>(bytes.data()), bytes.size(), pages.data()), 0);
  return static_cast<std::size_t>(std::count_if(
      pages.begin(), pages.end(), [](unsigned char page) { return (page & 1U) != 0; }));
}

TEST(NodeMemory, lies_where_huge_pages_fit) {
  const auto memory = NodeMemory::create("forebay-test", 3_MiB);
  ASSERT_TRUE(memory) << memory.error().message();
  const std::uint64_t alignment = std::max(huge_page_bytes(), kDirectBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->bytes().data()) % alignment, 0U);
  EXPECT_EQ(memory->bytes().size(), 3_MiB);
}

TEST(NodeMemory, takes_memory_when_told_and_only_where) {
  auto memory = NodeMemory::create("forebay-test", 8_MiB);
  ASSERT_TRUE(memory);
  EXPECT_EQ(resident_pages(memory->bytes()), 0U);
  const ByteRange odd{2_MiB - kDirectBytes, 2_MiB + 3 * kDirectBytes};
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
  ASSERT_TRUE(memory->prefault({0, kDirectBytes}));
  memory->bytes()[7] = std::byte{7};
  ASSERT_TRUE(memory->prefault({0, 4_MiB}));
  EXPECT_EQ(memory->bytes()[7], std::byte{7});
  EXPECT_EQ(memory->bytes()[8], std::byte{0});
}

TEST(NodeMemory, more_than_the_machine_has_is_an_error_that_says_how_much_it_has) {
  const std::uint64_t size = more_than_the_machine_has();
  auto memory = NodeMemory::create("forebay-test", size);
  ASSERT_TRUE(memory) << memory.error().message();
  const Status taken = memory->prefault({0, size});
  ASSERT_EQ(error_class(taken), ErrorClass::kLimit);
  EXPECT_TRUE(mentions(taken.error(), std::to_string(size))) << taken.error().message();
  EXPECT_EQ(resident_pages(memory->bytes().first(1_MiB)), 0U);
}

TEST(NodeMemory, more_than_there_are_addresses_is_an_error_and_leaves_nothing) {
  const std::size_t before = open_descriptors();
  const auto memory = NodeMemory::create("forebay-test", std::uint64_t{1} << 60U);
  EXPECT_EQ(error_class(memory), ErrorClass::kLimit);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(NodeMemory, moving_keeps_address_and_name) {
  auto memory = NodeMemory::create("forebay-test", kDirectBytes);
  ASSERT_TRUE(memory);
  const std::byte* const address = memory->bytes().data();
  const MemoryName name = memory->name();
  const NodeMemory moved = std::move(*memory);
  EXPECT_EQ(moved.bytes().data(), address);
  EXPECT_EQ(moved.name(), name);
}

/// In a process without privileges that may lock `bytes`.
int pin_with_limit(std::uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 2;
  if (::geteuid() == 0 && ::setuid(65534) != 0) return 3;
  auto memory = NodeMemory::create("forebay-test", 1_MiB);
  if (!memory || !memory->prefault({0, 1_MiB})) return 4;
  const Status pinned = memory->pin();
  if (pinned) return 0;
  const bool is_told = pinned.error().kind() == ErrorClass::kLimit &&
                       mentions(pinned.error(), "RLIMIT_MEMLOCK") &&
                       mentions(pinned.error(), std::to_string(bytes));
  return is_told ? 1 : 5;
}

TEST(NodeMemory, pinning_more_than_allowed_names_the_limit) {
  // Sanitizers leave out mlock(), which is success.
  constexpr int kExpected = kThreadSanitizer || kAddressSanitizer ? 0 : 1;
  EXPECT_EQ(Child([] { return pin_with_limit(65536); }).result(), kExpected);
  EXPECT_EQ(Child([] { return pin_with_limit(4096); }).result(), kExpected);
}

TEST(NodeMemory, pins_what_is_allowed) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  if (::geteuid() != 0 && limit.rlim_max < 2_MiB)
    GTEST_SKIP() << "this process may pin " << limit.rlim_max << " bytes only";
  EXPECT_EQ(Child([] { return pin_with_limit(2_MiB); }).result(), 0);
}

TEST(MemoryName, opens_the_same_memory) {
  auto memory = NodeMemory::create("forebay-test", 1_MiB);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->name().bytes, 1_MiB);
  EXPECT_EQ(memory->name().process, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(memory->prefault({0, 1_MiB}));
  const auto opened = open_named_memory(memory->name());
  ASSERT_TRUE(opened) << opened.error().message();
  memory->bytes()[5] = std::byte{42};
  std::array<std::byte, 8> seen{};
  ASSERT_EQ(::pread(opened->get(), seen.data(), seen.size(), 0), 8);
  EXPECT_EQ(seen[5], std::byte{42});
}

TEST(MemoryName, of_memory_that_is_gone_is_an_error) {
  auto memory = NodeMemory::create("forebay-test", 1_MiB);
  ASSERT_TRUE(memory);
  const MemoryName name = memory->name();
  *memory = NodeMemory();
  const auto opened = open_named_memory(name);
  ASSERT_EQ(error_class(opened), ErrorClass::kNotFound);
  EXPECT_TRUE(mentions(opened.error(), "/fd/")) << opened.error().message();
}

TEST(MemoryName, of_a_number_that_was_used_again_is_an_error) {
  auto memory = NodeMemory::create("forebay-test", 1_MiB);
  ASSERT_TRUE(memory);
  const MemoryName name = memory->name();
  *memory = NodeMemory();
  auto other = NodeMemory::create("forebay-test", 1_MiB);
  ASSERT_TRUE(other);
  ASSERT_EQ(other->name().descriptor, name.descriptor) << "the lowest number is given first";
  EXPECT_EQ(error_class(open_named_memory(name)), ErrorClass::kDamage);
  MemoryName larger = other->name();
  larger.bytes += 1;
  EXPECT_EQ(error_class(open_named_memory(larger)), ErrorClass::kDamage);
}

TEST(MemoryName, of_what_could_shrink_is_refused) {
  const Descriptor unsealed(::memfd_create("forebay-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_TRUE(unsealed);
  ASSERT_EQ(::ftruncate(unsealed.get(), 4096), 0);
  const auto name = name_of_memory(unsealed);
  ASSERT_TRUE(name);
  EXPECT_EQ(error_class(open_named_memory(*name)), ErrorClass::kInvalidArgument);
}

// Opening the reading end of a pipe would wait for somebody who writes.
TEST(MemoryName, of_a_pipe_does_not_block) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor reader(ends[0]);
  const Descriptor writer(ends[1]);
  const auto name = name_of_memory(reader);
  ASSERT_TRUE(name);
  EXPECT_EQ(error_class(open_named_memory(*name)), ErrorClass::kDamage);
}

TEST(MemoryName, of_nobody_is_not_found) {
  Child gone([] { return 0; });
  const auto process = static_cast<std::uint32_t>(gone.pid());
  ASSERT_EQ(gone.result(), 0);
  EXPECT_EQ(error_class(open_named_memory({.process = process, .descriptor = 3})),
            ErrorClass::kNotFound);
  EXPECT_EQ(error_class(open_named_memory({})), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::shm
