// SPDX-License-Identifier: Apache-2.0
#include "command/atomic_file.hpp"

#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include "command/testing.hpp"

namespace forebay::command {
namespace {

using testing::read_file;
using testing::TempDirectory;

constexpr std::array kBytes{std::byte{1}, std::byte{2}, std::byte{3}};

TEST(AtomicFile, name_appears_at_publish) {
  const TempDirectory directory;
  auto file = AtomicFile::create(directory.file("a"));
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(file->reserve(5));
  ASSERT_TRUE(file->write(2, kBytes));
  EXPECT_FALSE(std::filesystem::exists(directory.file("a")));
  ASSERT_TRUE(file->publish());
  const std::vector<std::byte> expected{std::byte{0}, std::byte{0}, std::byte{1}, std::byte{2},
                                        std::byte{3}};
  EXPECT_EQ(read_file(directory.file("a")), expected);
  EXPECT_EQ(directory.file_count(), 1U);
}

TEST(AtomicFile, unpublished_file_leaves_existing_one_unchanged) {
  const TempDirectory directory;
  testing::write_file(directory.file("a"), kBytes);
  {
    auto file = AtomicFile::create(directory.file("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->resize(100));
    EXPECT_EQ(directory.file_count(), 2U);
  }
  EXPECT_EQ(read_file(directory.file("a")).size(), 3U);
  EXPECT_EQ(directory.file_count(), 1U);
}

TEST(AtomicFile, reserve_beyond_free_space_returns_no_space) {
  const TempDirectory directory;
  const auto file = AtomicFile::create(directory.file("a"));
  ASSERT_TRUE(file);
  const Status reserved = file->reserve(std::uint64_t{1} << 60U);
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().kind(), ErrorClass::kNoSpace) << reserved.error().message();
  EXPECT_NE(reserved.error().cause().find(" bytes are requested, the file system has "),
            std::string::npos)
      << reserved.error().message();
}

TEST(AtomicFile, missing_directory_returns_not_found_with_path) {
  const TempDirectory directory;
  const auto file = AtomicFile::create(directory.file("none/a"));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(file.error().path(), directory.file("none/a"));
}

}  // namespace
}  // namespace forebay::command
