// SPDX-License-Identifier: Apache-2.0
// New files and how they are cut: wishes that nobody grants are told once, and stop nothing.
#include "write/data_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/testing.hpp"

namespace forebay::write {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Lines final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view line) noexcept override {
    lines.emplace_back(line);
  }
  std::vector<std::string> lines;
};

struct Folders {
  DataFolder folder_with(const storage::StripeWish& wish,
                         std::optional<storage::FileSystem> file_system = {}) {
    return DataFolder(
        {.folder = place.path(), .stripes = wish, .log = &log, .file_system = file_system});
  }
  storage::TemporaryFolder place;
  Lines log;
};

TEST(DataFolder, says_once_that_stripes_cannot_be_wished_for) {
  Folders folders;
  DataFolder folder = folders.folder_with({.stripe_bytes = 1_MiB});
  EXPECT_TRUE(folder.create({.group = 1, .file = 0}, 4096));
  EXPECT_TRUE(folder.create({.group = 2, .file = 0}, 4096));
  EXPECT_THAT(folders.log.lines, ElementsAre(HasSubstr("says nothing of how a file is cut")));
}

TEST(DataFolder, says_nothing_where_nobody_wishes) {
  Folders folders;
  DataFolder folder = folders.folder_with({});
  EXPECT_TRUE(folder.create({.group = 1, .file = 0}, 4096));
  EXPECT_TRUE(folders.log.lines.empty());
}

// Ranks that share a file waited for each other in their first steps.
TEST(DataFolder, gives_a_file_of_unknown_bytes_a_length_over_fuse_alone) {
  Folders folders;
  DataFolder local = folders.folder_with({});
  const auto local_file = local.create({.group = 1, .file = 0}, 0);
  ASSERT_TRUE(local_file) << local_file.error().message();
  EXPECT_EQ((*local_file)->size(), format::kPageBytes);
  DataFolder fuse = folders.folder_with({}, storage::FileSystem::kFuse);
  const auto unknown = fuse.create({.group = 2, .file = 0}, 0);
  ASSERT_TRUE(unknown) << unknown.error().message();
  const bool is_direct = (*unknown)->access() == Access::kDirect;
  EXPECT_EQ((*unknown)->size(), is_direct ? kUnknownLengthBytes : format::kPageBytes);
  const auto known = fuse.create({.group = 3, .file = 0}, 2_MiB);
  ASSERT_TRUE(known) << known.error().message();
  EXPECT_EQ((*known)->size(), 2_MiB);
}

TEST(DataFolder, opens_a_file_whose_header_has_not_come_from_its_node_yet_and_no_other_one) {
  Folders folders;
  DataFolder folder = folders.folder_with({});
  std::ofstream(folders.place / "data-000001.00000").close();
  EXPECT_TRUE(folder.open({.group = 1, .file = 0}));
  std::filesystem::resize_file(folders.place / "data-000001.00000", 65'536);
  EXPECT_TRUE(folder.open({.group = 1, .file = 0}));
  ASSERT_TRUE(folder.create({.group = 2, .file = 0}, 4096));
  std::filesystem::rename(folders.place / "data-000002.00000", folders.place / "data-000003.00000");
  EXPECT_EQ(error_class(folder.open({.group = 3, .file = 0})), ErrorClass::kDamage);
}

TEST(DataFolder, makes_files_as_ever_where_lustre_refuses_a_layout) {
  Folders folders;
  DataFolder folder = folders.folder_with({.server_count = 4}, storage::FileSystem::kLustre);
  const auto file = folder.create({.group = 1, .file = 0}, 4096);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_THAT(folders.log.lines, ElementsAre(HasSubstr("cut a new file over servers")));
  EXPECT_TRUE(folder.open({.group = 1, .file = 0}));
}

// Where there is room for one step more than is kept, files kept for later would take that.
TEST(DataFolder, keeps_no_file_for_later_where_there_is_no_room_to_reserve) {
  const storage::TemporaryFolder place;
  DataFolder folder({.folder = place.path(), .free_files_max = 4});
  const std::uint64_t too_much = std::filesystem::space(place.path()).available / 3 * 2;
  for (const std::uint64_t group : {1U, 2U})
    ASSERT_TRUE(folder.create({.group = group, .file = 0}, 4096));
  for (const std::uint64_t group : {1U, 2U})
    ASSERT_TRUE(folder.recycle({.group = group, .file = 0}));
  EXPECT_EQ(folder.free_files(), 2U);
  ASSERT_TRUE(folder.create({.group = 3, .file = 0}, too_much));
  EXPECT_EQ(folder.free_files(), 0U) << "one was taken, one given up";
  EXPECT_TRUE(folder.recycle({.group = 3, .file = 0}));
  EXPECT_EQ(folder.free_files(), 0U);
  EXPECT_TRUE(std::filesystem::is_empty(place.path()));
  ASSERT_TRUE(folder.create({.group = 4, .file = 0}, 4096));
  EXPECT_TRUE(folder.recycle({.group = 4, .file = 0}));
  EXPECT_EQ(folder.free_files(), 1U) << "there is room again";
}

}  // namespace
}  // namespace forebay::write
