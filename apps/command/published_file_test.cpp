// SPDX-License-Identifier: Apache-2.0
#include "command/published_file.hpp"

#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include "command/testing.hpp"

namespace forebay::command {
namespace {

using testing::contents_of;
using testing::TempFolder;

constexpr std::array kBytes{std::byte{1}, std::byte{2}, std::byte{3}};

TEST(PublishedFile, has_its_name_only_once_it_is_published) {
  const TempFolder folder;
  auto file = PublishedFile::create(folder.file("a"));
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(file->reserve(5));
  ASSERT_TRUE(file->write(2, kBytes));
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
  ASSERT_TRUE(file->publish());
  const std::vector<std::byte> expected{std::byte{0}, std::byte{0}, std::byte{1}, std::byte{2},
                                        std::byte{3}};
  EXPECT_EQ(contents_of(folder.file("a")), expected);
  EXPECT_EQ(folder.file_count(), 1U);
}

TEST(PublishedFile, one_that_is_dropped_leaves_what_was_there) {
  const TempFolder folder;
  testing::write_file(folder.file("a"), kBytes);
  {
    auto file = PublishedFile::create(folder.file("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->resize(100));
    EXPECT_EQ(folder.file_count(), 2U);
  }
  EXPECT_EQ(contents_of(folder.file("a")).size(), 3U);
  EXPECT_EQ(folder.file_count(), 1U);
}

TEST(PublishedFile, more_than_the_disk_has_is_refused_before_anything_is_written) {
  const TempFolder folder;
  const auto file = PublishedFile::create(folder.file("a"));
  ASSERT_TRUE(file);
  const Status reserved = file->reserve(std::uint64_t{1} << 60U);
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().kind(), ErrorClass::kNoSpace) << reserved.error().message();
  EXPECT_NE(reserved.error().cause().find(" bytes are wanted, the file system has "),
            std::string::npos)
      << reserved.error().message();
}

TEST(PublishedFile, a_folder_that_is_not_there_is_an_error_with_the_name) {
  const TempFolder folder;
  const auto file = PublishedFile::create(folder.file("none/a"));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(file.error().path(), folder.file("none/a"));
}

}  // namespace
}  // namespace forebay::command
