// SPDX-License-Identifier: Apache-2.0
// Files of the operating system and files in memory: which can be opened, the meaning of short
// counts, and error messages.
#include "storage/file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "storage/file_system.hpp"
#include "storage/memory_file.hpp"
#include "storage/testing.hpp"

namespace forebay::storage {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kOddSize = 3 * 4096 + 1234;

class FileTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "data";
};

TEST_F(FileTest, missing_file_is_not_found_and_not_created) {
  for (const Intent intent : {Intent::kRead, Intent::kWrite}) {
    const auto file = open_file(path_, {.intent = intent});
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind(), ErrorClass::kNotFound);
    EXPECT_EQ(file.error().path(), path_);
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
}

TEST_F(FileTest, create_creates_the_file_and_keeps_content) {
  write_pattern_file(path_, 100);
  const auto file = must_open(path_, {.intent = Intent::kCreate});
  EXPECT_EQ(*file->size(), 100U);
  EXPECT_EQ(file->path(), path_);
}

TEST_F(FileTest, read_returns_all_bytes_and_less_only_at_the_end) {
  write_pattern_file(path_, kOddSize);
  const auto file = must_open(path_);
  std::vector<std::byte> into(kOddSize + 10);
  EXPECT_EQ(*file->read_at(into, 0), kOddSize);
  EXPECT_EQ(matching_pattern(into, 0), kOddSize);
  EXPECT_EQ(*file->read_at(std::span(into).first(50), 77), 50U);
  EXPECT_EQ(matching_pattern(std::span(into).first(50), 77), 50U);
  EXPECT_EQ(*file->read_at(into, kOddSize - 5), 5U);
  EXPECT_EQ(*file->read_at(into, kOddSize), 0U);
  EXPECT_EQ(*file->read_at(into, kOddSize + 1'000'000), 0U);
  EXPECT_EQ(*file->read_at({}, 0), 0U);
}

TEST_F(FileTest, empty_file_reads_zero_bytes) {
  write_pattern_file(path_, 0);
  const auto file = must_open(path_);
  std::vector<std::byte> into(10);
  EXPECT_EQ(*file->size(), 0U);
  EXPECT_EQ(*file->read_at(into, 0), 0U);
}

TEST_F(FileTest, read_only_file_can_be_read_and_not_written) {
  write_pattern_file(path_, 100);
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  const auto file = must_open(path_);
  std::vector<std::byte> into(100);
  EXPECT_EQ(*file->read_at(into, 0), 100U);
  const auto written = file->write_at(into, 0);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().operation(), "write");
  EXPECT_EQ(written.error().error_number(), EBADF);
}

TEST_F(FileTest, directory_fifo_socket_and_device_are_refused_at_once) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string socket_path = directory_ / "s";
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  socket_path.copy(address.sun_path, socket_path.size());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const std::string& name :
       {directory_ / "", directory_ / "fifo", socket_path, std::string("/dev/null")}) {
    for (const Intent intent : {Intent::kRead, Intent::kWrite}) {
      const auto file = open_file(name, {.intent = intent});
      ASSERT_FALSE(file) << name;
      EXPECT_EQ(file.error().kind(), ErrorClass::kInvalidArgument) << file.error().message();
      EXPECT_EQ(file.error().path(), name);
    }
  }
}

TEST_F(FileTest, descriptor_blocks_so_that_the_ring_does_not_see_eagain) {
  write_pattern_file(path_, 10);
  const auto file = must_open(path_);
  EXPECT_EQ(::fcntl(file->descriptor(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(FileTest, write_read_truncate_allocate_sync) {
  const auto file = must_open(path_, {.intent = Intent::kCreate});
  const auto bytes = pattern(5000);
  EXPECT_EQ(*file->write_at(bytes, 1000), 5000U);
  EXPECT_EQ(*file->size(), 6000U);
  EXPECT_TRUE(file->sync());
  EXPECT_TRUE(file->truncate(2000));
  EXPECT_EQ(*file->size(), 2000U);
  EXPECT_TRUE(file->allocate({0, 8192}));
  EXPECT_EQ(*file->size(), 8192U);
  EXPECT_TRUE(file->allocate({0, 0}));
  std::vector<std::byte> into(8192);
  EXPECT_EQ(*file->read_at(into, 0), 8192U);
  EXPECT_EQ(matching_pattern(std::span(into).subspan(1000, 1000), 0), 1000U);
  EXPECT_EQ(into[2000], std::byte{0});
}

TEST_F(FileTest, reserve_allocates_space_and_keeps_the_size) {
  const auto file = must_open(path_, {.intent = Intent::kCreate});
  if (const Status reserved = file->reserve({0, 1_MiB}); !reserved) {
    ASSERT_EQ(reserved.error().kind(), ErrorClass::kUnsupported) << reserved.error().message();
    GTEST_SKIP() << reserved.error().message();
  }
  EXPECT_EQ(*file->size(), 0U);
  struct stat facts{};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_GE(std::uint64_t{512} * static_cast<std::uint64_t>(facts.st_blocks), 1_MiB);
}

TEST_F(FileTest, punch_hole_zeros_bytes_and_keeps_the_size) {
  const auto file = must_open(path_, {.intent = Intent::kCreate});
  const auto bytes = pattern(3 * 65536);
  ASSERT_TRUE(file->write_at(bytes, 0));
  const Status punched = file->punch_hole({65536, 2 * 65536});
  if (!punched && punched.error().kind() == ErrorClass::kUnsupported)
    GTEST_SKIP() << punched.error().message();
  ASSERT_TRUE(punched) << punched.error().message();
  EXPECT_TRUE(file->punch_hole({0, 0}));
  std::vector<std::byte> into(bytes.size());
  ASSERT_EQ(*file->read_at(into, 0), bytes.size());
  EXPECT_EQ(matching_pattern(std::span(into).first(65536), 0), 65536U);
  EXPECT_EQ(std::ranges::count(std::span(into).subspan(65536), std::byte{0}), 2 * 65536);
}

TEST_F(FileTest, error_names_operation_path_and_offset) {
  write_pattern_file(path_, 100);
  const auto file = must_open(path_);
  std::vector<std::byte> into(10);
  const auto read = file->read_at(into, UINT64_MAX - 4096);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().operation(), "read");
  EXPECT_EQ(read.error().path(), path_);
  EXPECT_EQ(read.error().offset_bytes(), UINT64_MAX - 4096);
}

TEST_F(FileTest, direct_read_has_the_same_bytes_up_to_an_unaligned_end) {
  write_pattern_file(path_, kOddSize);
  const auto file = open_file(path_, {.access = Access::kDirect});
  if (!file) GTEST_SKIP() << file.error().message();
  EXPECT_EQ((*file)->access(), Access::kDirect);
  ASSERT_GT((*file)->alignment_bytes(), 1U);
  const AlignedMemory memory(std::size_t{5} * 4096);
  EXPECT_EQ(*(*file)->read_at(memory.bytes(), 0), kOddSize);
  EXPECT_EQ(matching_pattern(memory.bytes().first(kOddSize), 0), kOddSize);
  EXPECT_EQ(*(*file)->read_at(memory.bytes().first(4096), std::uint64_t{3} * 4096), 1234U);
  EXPECT_EQ(*(*file)->read_at(memory.bytes(), std::uint64_t{4} * 4096), 0U);
}

TEST_F(FileTest, unaligned_direct_transfer_is_an_invalid_argument) {
  write_pattern_file(path_, kOddSize);
  const auto file = open_file(path_, {.access = Access::kDirect});
  if (!file) GTEST_SKIP() << file.error().message();
  const AlignedMemory memory(std::size_t{2} * 4096);
  for (const auto& read : {(*file)->read_at(memory.bytes().first(4096), 100),
                           (*file)->read_at(memory.bytes().first(1000), 0),
                           (*file)->read_at(memory.bytes().subspan(1, 4096), 0)}) {
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_THAT(read.error().message(), HasSubstr("multiples of"));
  }
}

TEST_F(FileTest, direct_access_to_tmpfs_is_unsupported_with_the_reason) {
  const TemporaryDirectory in_memory("/dev/shm");
  const auto plain = open_file(in_memory / "data", {.intent = Intent::kCreate});
  if (!plain) GTEST_SKIP() << plain.error().message();
  EXPECT_EQ((*plain)->file_system(), FileSystem::kTmpfs);
  const auto direct = open_file(in_memory / "data", {.access = Access::kDirect});
  ASSERT_FALSE(direct);
  EXPECT_EQ(direct.error().kind(), ErrorClass::kUnsupported);
  EXPECT_THAT(direct.error().message(), HasSubstr("tmpfs"));
}

TEST_F(FileTest, reopened_file_is_the_same_file_even_when_renamed) {
  write_pattern_file(path_, kOddSize);
  const auto file = must_open(path_);
  std::filesystem::rename(path_, path_ + ".old");
  write_pattern_file(path_, 7);
  const auto again = reopen(*file, {.access = Access::kBuffered});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*(*again)->size(), kOddSize);
  EXPECT_EQ((*again)->path(), path_);
  EXPECT_NE((*again)->descriptor(), file->descriptor());
}

TEST_F(FileTest, file_that_was_just_written_is_cached) {
  write_pattern_file(path_, 1_MiB);
  const auto file = must_open(path_);
  const auto cached = file->cached_fraction({0, kAll});
  if (!cached) GTEST_SKIP() << "the share in the page cache is unknown here";
  EXPECT_GT(*cached, 0.99);
  EXPECT_FALSE(file->cached_fraction({0, 0}));
  EXPECT_FALSE(file->cached_fraction({2_MiB, 1_MiB}));
}

TEST_F(FileTest, cached_fraction_detects_dropped_pages_and_loads_none) {
  write_pattern_file(path_, 32_MiB);
  const auto file = must_open(path_);
  ASSERT_TRUE(file->cached_fraction({0, kAll})) << "the share in the page cache is unknown here";
  const auto writer = must_open(path_, {.intent = Intent::kWrite});
  ASSERT_TRUE(writer->sync());
  ASSERT_EQ(::posix_fadvise(file->descriptor(), 0, 16 << 20, POSIX_FADV_DONTNEED), 0);
  if (file->file_system() == FileSystem::kTmpfs) GTEST_SKIP() << "tmpfs drops nothing";
  EXPECT_LT(*file->cached_fraction({0, 16_MiB}), 0.01);
  EXPECT_GT(*file->cached_fraction({16_MiB, 16_MiB}), 0.99);
  const double both = *file->cached_fraction({0, kAll});
  EXPECT_GT(both, 0.4);
  EXPECT_LT(both, 0.6);
  EXPECT_LT(*file->cached_fraction({0, 16_MiB}), 0.01);
}

TEST_F(FileTest, cached_fraction_is_correct_for_strided_reads) {
  constexpr std::uint64_t kStride = 1_MiB;
  write_pattern_file(path_, 64 * kStride);
  const auto file = must_open(path_);
  ASSERT_TRUE(file->cached_fraction({0, kAll})) << "the share in the page cache is unknown here";
  if (file->file_system() == FileSystem::kTmpfs) GTEST_SKIP() << "tmpfs drops nothing";
  ASSERT_TRUE(must_open(path_, {.intent = Intent::kWrite})->sync());
  ASSERT_EQ(::posix_fadvise(file->descriptor(), 0, 0, POSIX_FADV_DONTNEED), 0);
  ASSERT_EQ(::posix_fadvise(file->descriptor(), 0, 0, POSIX_FADV_RANDOM), 0);  // no readahead
  std::vector<std::byte> into(kStride / 2);
  for (std::uint64_t at = 0; at < 64 * kStride; at += kStride) {
    ASSERT_TRUE(file->read_at(into, at));
  }
  EXPECT_GT(*file->cached_fraction({0, kAll}), 0.35);
  EXPECT_LT(*file->cached_fraction({0, kAll}), 0.65);
}

TEST_F(FileTest, file_system_has_a_name) {
  write_pattern_file(path_, 1);
  EXPECT_NE(name_of(must_open(path_)->file_system()), "unknown");
  EXPECT_EQ(name_of(FileSystem::kLustre), "lustre");
  EXPECT_EQ(name_of(Access::kDirect), "direct");
}

TEST(File, create_new_refuses_an_existing_name) {
  const TemporaryDirectory directory;
  const std::string path = directory / "new";
  const auto file = must_open(path, {.intent = Intent::kCreateNew});
  ASSERT_TRUE(file->write_at(pattern(10), 0));
  const auto second = open_file(path, {.intent = Intent::kCreateNew});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().error_number(), EEXIST);
  EXPECT_EQ(*file->size(), 10U);
}

TEST(MemoryFile, behaves_like_a_file) {
  MemoryFile file("memory", pattern(1000));
  std::vector<std::byte> into(600);
  EXPECT_EQ(*file.read_at(into, 0), 600U);
  EXPECT_EQ(*file.read_at(into, 600), 400U);
  EXPECT_EQ(matching_pattern(std::span(into).first(400), 600), 400U);
  EXPECT_EQ(*file.read_at(into, 5000), 0U);
  EXPECT_EQ(*file.write_at(pattern(10), 1995), 10U);
  EXPECT_EQ(*file.size(), 2005U);
  EXPECT_TRUE(file.truncate(100));
  EXPECT_EQ(*file.read_at(into, 0), 100U);
  EXPECT_TRUE(file.allocate({0, 300}));
  EXPECT_EQ(*file.size(), 300U);
  EXPECT_EQ(file.cached_fraction({0, kAll}), 1.0);
}

TEST(MemoryFile, too_large_is_no_space) {
  MemoryFile file("memory", {});
  const Status allocated = file.allocate({UINT64_MAX - 10, 100});
  ASSERT_FALSE(allocated);
  EXPECT_EQ(allocated.error().kind(), ErrorClass::kNoSpace);
  EXPECT_EQ(allocated.error().path(), "memory");
}

}  // namespace
}  // namespace forebay::storage
