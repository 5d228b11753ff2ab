// SPDX-License-Identifier: Apache-2.0
// The table of files: what a name leads to, and what a descriptor leads to where its name is given
// to another file meanwhile.
#include "tools/emufs/inodes.hpp"

#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.hpp"

namespace forebay::emufs {
namespace {

class InodesOfFolder : public ::testing::Test {
 protected:
  InodesOfFolder() : inodes_(opened(".", O_PATH), attributes_of(opened(".", O_PATH).get()), 1) {}

  std::string path_of(const std::string& name) const { return folder_ / name; }
  Descriptor opened(const std::string& name, int flags) const {
    return Descriptor(::open(path_of(name).c_str(), flags | O_CLOEXEC, 0600));
  }
  Descriptor made(const std::string& name) const { return opened(name, O_CREAT | O_EXCL | O_RDWR); }
  static struct stat attributes_of(int file) {
    struct stat is{};
    EXPECT_EQ(::fstatat(file, "", &is, AT_EMPTY_PATH), 0);
    return is;
  }

  TemporaryFolder folder_;
  Inodes inodes_;
};

TEST_F(InodesOfFolder, adopt_takes_the_file_of_the_descriptor_where_another_has_its_name) {
  const Descriptor file = made("file");
  const Descriptor other = made("other");
  ASSERT_EQ(::rename(path_of("other").c_str(), path_of("file").c_str()), 0);
  const auto adopted = inodes_.adopt(file.get());
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->attributes.st_ino, attributes_of(file.get()).st_ino);
  EXPECT_EQ(attributes_of(adopted->inode->fd()).st_ino, attributes_of(file.get()).st_ino);
  const auto found = inodes_.find(inodes_.root(), "file");
  ASSERT_TRUE(found);
  EXPECT_NE(found->inode, adopted->inode);
}

TEST_F(InodesOfFolder, adopt_takes_a_file_that_has_no_name_any_more) {
  const Descriptor file = made("file");
  ASSERT_EQ(::unlink(path_of("file").c_str()), 0);
  const auto adopted = inodes_.adopt(file.get());
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->attributes.st_nlink, 0U);
}

TEST_F(InodesOfFolder, adopt_and_find_give_one_inode_and_count_it_each) {
  const Descriptor file = made("file");
  const auto adopted = inodes_.adopt(file.get());
  const auto found = inodes_.find(inodes_.root(), "file");
  ASSERT_TRUE(adopted);
  ASSERT_TRUE(found);
  EXPECT_EQ(adopted->inode, found->inode);
  EXPECT_EQ(inodes_.forget(*found->inode, 1), Known::kBySome);
  EXPECT_EQ(inodes_.forget(*found->inode, 1), Known::kByNobody);
}

TEST_F(InodesOfFolder, adopt_takes_a_symbolic_link_that_a_descriptor_names) {
  ASSERT_EQ(::symlink("nowhere", path_of("link").c_str()), 0);
  const Descriptor link = opened("link", O_PATH | O_NOFOLLOW);
  const auto adopted = inodes_.adopt(link.get());
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->inode->kind(), mode_t{S_IFLNK});
}

TEST_F(InodesOfFolder, adopt_refuses_the_root_and_what_is_not_open) {
  EXPECT_EQ(inodes_.adopt(inodes_.root().fd()).error(), ELOOP);
  EXPECT_EQ(inodes_.adopt(-1).error(), ENOENT);
}

}  // namespace
}  // namespace forebay::emufs
