// SPDX-License-Identifier: Apache-2.0
// Real messages and file transfers longer than MPI can count in one call: 2 GiB and a bit, in
// address space with little memory behind it.
#include <algorithm>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kSize = 2048 * kMiB + 5000;
constexpr std::uint64_t kSharedBytes = 16 * kMiB;
constexpr std::uint64_t kWindow = kMiB;
constexpr std::uint64_t kLastWindow = 2047 * kMiB;  // around 2 GiB, and to the end

/// Address space on 16 MiB of memory that is mapped repeatedly: only the first MiB and the bytes
/// from kLastWindow have separate memory.
class AliasedMemory {
 public:
  AliasedMemory() {
    const Descriptor memory(::memfd_create("forebay-test", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(kSharedBytes)), 0);
    void* const base = ::mmap(nullptr, kMapped, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(base, MAP_FAILED);
    data_ = static_cast<std::byte*>(base);
    for (std::uint64_t at = kWindow; at < kLastWindow; at += kSharedBytes) {
      const std::uint64_t size = std::min(kSharedBytes, kLastWindow - at);
      EXPECT_NE(
          ::mmap(data_ + at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(), 0),
          MAP_FAILED);
    }
  }
  ~AliasedMemory() { ::munmap(data_, kMapped); }
  AliasedMemory(const AliasedMemory&) = delete;
  AliasedMemory& operator=(const AliasedMemory&) = delete;

  std::span<std::byte> bytes() const { return {data_, kSize}; }
  std::span<std::byte> last() const { return bytes().subspan(kLastWindow); }

 private:
  static constexpr std::uint64_t kMapped = 2050 * kMiB;
  std::byte* data_ = nullptr;
};

void fill(std::span<std::byte> bytes, std::uint64_t offset) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = pattern_at(offset + i);
}

bool is_pattern(std::span<const std::byte> bytes, std::uint64_t offset) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != pattern_at(offset + i)) return false;
  }
  return true;
}

TEST(LongTransfer, a_message_may_have_more_than_2_gib) {
  const CommunicatorPtr ranks = value_or_throw(from_mpi(MPI_COMM_WORLD), "from_mpi");
  ASSERT_EQ(ranks->size(), 2U);
  const AliasedMemory memory;
  if (ranks->rank() == Rank{0}) {
    fill(memory.bytes().first(kWindow), 0);
    fill(memory.last(), kLastWindow);
    ASSERT_TRUE(ranks->send(memory.bytes(), Rank{1}, {}).wait());
  } else {
    ASSERT_TRUE(ranks->receive(memory.bytes(), Rank{0}, {}).wait());
    EXPECT_TRUE(is_pattern(memory.bytes().first(kWindow), 0));
    EXPECT_TRUE(is_pattern(memory.last(), kLastWindow));
  }
}

/// A file of kSize bytes, almost all a hole.
std::string create_file(const CommunicatorPtr& ranks, const SharedDirectory& directory) {
  const std::string path = directory / "long";
  if (ranks->rank() == Rank{0}) {
    const Bytes last = pattern(kLastWindow, kSize - kLastWindow);
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::pwrite(file.get(), last.data(), last.size(), static_cast<off_t>(kLastWindow)),
              static_cast<ssize_t>(last.size()));
  }
  EXPECT_TRUE(ranks->barrier());
  return path;
}

// One rank reads more than 2 GiB and the other very little: both must make the same calls.
TEST(LongTransfer, a_collective_read_may_have_more_than_2_gib) {
  const CommunicatorPtr ranks = value_or_throw(from_mpi(MPI_COMM_WORLD), "from_mpi");
  const SharedDirectory directory(ranks);
  const auto file = value_or_throw(ranks->open_file(create_file(ranks, directory), {}), "open");
  if (ranks->rank() == Rank{0}) {
    const AliasedMemory memory;
    EXPECT_EQ(value_or_throw(file->read_at_all(memory.bytes(), 0), "read"), kSize);
    EXPECT_TRUE(is_pattern(memory.last(), kLastWindow));
  } else {
    Bytes few(100);
    EXPECT_EQ(value_or_throw(file->read_at_all(few, kLastWindow), "read"), few.size());
    EXPECT_TRUE(is_pattern(few, kLastWindow));
  }
}

TEST(LongTransfer, a_read_alone_may_have_more_than_2_gib) {
  const CommunicatorPtr ranks = value_or_throw(from_mpi(MPI_COMM_WORLD), "from_mpi");
  const SharedDirectory directory(ranks);
  const auto file = value_or_throw(ranks->open_file(create_file(ranks, directory), {}), "open");
  if (ranks->rank() == Rank{1}) {
    const AliasedMemory memory;
    EXPECT_EQ(value_or_throw(file->read_at(memory.bytes(), 0), "read"), kSize);
    EXPECT_TRUE(is_pattern(memory.last(), kLastWindow));
  }
}

}  // namespace
}  // namespace forebay::comm
