// SPDX-License-Identifier: Apache-2.0
// The table of files: the inode of a name, and the inode of a descriptor after its name was given
// to another file.
#include "tools/emufs/inodes.hpp"

#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.hpp"

namespace forebay::emufs {
namespace {

class InodesTest : public ::testing::Test {
 protected:
  InodesTest() : inodes_(open_file(".", O_PATH), attributes_of(open_file(".", O_PATH).get()), 1) {}

  std::string path_of(const std::string& name) const { return directory_ / name; }
  Descriptor open_file(const std::string& name, int flags) const {
    return Descriptor(::open(path_of(name).c_str(), flags | O_CLOEXEC, 0600));
  }
  Descriptor create_file(const std::string& name) const {
    return open_file(name, O_CREAT | O_EXCL | O_RDWR);
  }
  static struct stat attributes_of(int file) {
    struct stat is{};
    EXPECT_EQ(::fstatat(file, "", &is, AT_EMPTY_PATH), 0);
    return is;
  }

  TemporaryDirectory directory_;
  Inodes inodes_;
};

TEST_F(InodesTest, find_open_returns_the_descriptors_file_after_its_name_was_replaced) {
  const Descriptor file = create_file("file");
  const Descriptor other = create_file("other");
  ASSERT_EQ(::rename(path_of("other").c_str(), path_of("file").c_str()), 0);
  const auto adopted = inodes_.find_open(file.get());
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->attributes.st_ino, attributes_of(file.get()).st_ino);
  EXPECT_EQ(attributes_of(adopted->inode->fd()).st_ino, attributes_of(file.get()).st_ino);
  const auto found = inodes_.find(inodes_.root(), "file");
  ASSERT_TRUE(found);
  EXPECT_NE(found->inode, adopted->inode);
}

TEST_F(InodesTest, find_open_returns_an_unlinked_file) {
  const Descriptor file = create_file("file");
  ASSERT_EQ(::unlink(path_of("file").c_str()), 0);
  const auto adopted = inodes_.find_open(file.get());
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->attributes.st_nlink, 0U);
}

TEST_F(InodesTest, find_open_and_find_return_one_inode_and_count_each) {
  const Descriptor file = create_file("file");
  const auto adopted = inodes_.find_open(file.get());
  const auto found = inodes_.find(inodes_.root(), "file");
  ASSERT_TRUE(adopted);
  ASSERT_TRUE(found);
  EXPECT_EQ(adopted->inode, found->inode);
  EXPECT_EQ(inodes_.forget(*found->inode, 1), InodeState::kReferenced);
  EXPECT_EQ(inodes_.forget(*found->inode, 1), InodeState::kReleased);
}

TEST_F(InodesTest, find_open_returns_a_symbolic_link) {
  ASSERT_EQ(::symlink("nowhere", path_of("link").c_str()), 0);
  const Descriptor link = open_file("link", O_PATH | O_NOFOLLOW);
  const auto adopted = inodes_.find_open(link.get());
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->inode->kind(), mode_t{S_IFLNK});
}

TEST_F(InodesTest, find_open_rejects_the_root_and_a_closed_descriptor) {
  EXPECT_EQ(inodes_.find_open(inodes_.root().fd()).error(), ELOOP);
  EXPECT_EQ(inodes_.find_open(-1).error(), ENOENT);
}

}  // namespace
}  // namespace forebay::emufs
