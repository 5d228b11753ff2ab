// SPDX-License-Identifier: Apache-2.0
// New files and their striping: unsupported requests are logged once, and stop nothing.
#include "write/dataset_directory.hpp"

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

class LogRecorder final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view line) noexcept override {
    lines.emplace_back(line);
  }
  std::vector<std::string> lines;
};

struct DatasetDirectoryFixture {
  DatasetDirectory directory_with(const storage::StripeHint& wish,
                                  std::optional<storage::FileSystem> file_system = {}) {
    return DatasetDirectory({.directory = temporary_directory.path(),
                             .stripes = wish,
                             .log = &log,
                             .file_system = file_system});
  }
  storage::TemporaryDirectory temporary_directory;
  LogRecorder log;
};

TEST(DatasetDirectory, unsupported_striping_is_logged_once) {
  DatasetDirectoryFixture directories;
  DatasetDirectory directory = directories.directory_with({.stripe_bytes = 1_MiB});
  EXPECT_TRUE(directory.create({.group = 1, .file = 0}, 4096));
  EXPECT_TRUE(directory.create({.group = 2, .file = 0}, 4096));
  EXPECT_THAT(directories.log.lines,
              ElementsAre(HasSubstr("does not report the striping of a file")));
}

TEST(DatasetDirectory, default_striping_logs_nothing) {
  DatasetDirectoryFixture directories;
  DatasetDirectory directory = directories.directory_with({});
  EXPECT_TRUE(directory.create({.group = 1, .file = 0}, 4096));
  EXPECT_TRUE(directories.log.lines.empty());
}

// Ranks that share a file once waited for each other in their first steps.
// Ranks also waited in steps that were larger than any before.
TEST(DatasetDirectory, file_gets_length_beyond_its_expected_size_only_over_fuse) {
  DatasetDirectoryFixture directories;
  DatasetDirectory local = directories.directory_with({});
  const auto local_file = local.create({.group = 1, .file = 0}, 0);
  ASSERT_TRUE(local_file) << local_file.error().message();
  EXPECT_EQ((*local_file)->size(), format::kPageBytes);
  DatasetDirectory fuse = directories.directory_with({}, storage::FileSystem::kFuse);
  const auto unknown = fuse.create({.group = 2, .file = 0}, 0);
  ASSERT_TRUE(unknown) << unknown.error().message();
  const bool is_direct = (*unknown)->access() == Access::kDirect;
  EXPECT_EQ((*unknown)->size(), is_direct ? kInitialLengthBytes : format::kPageBytes);
  const auto known = fuse.create({.group = 3, .file = 0}, 2_MiB);
  ASSERT_TRUE(known) << known.error().message();
  EXPECT_EQ((*known)->size(), is_direct ? kInitialLengthBytes : 2_MiB);
  const auto large = fuse.create({.group = 4, .file = 0}, 192_MiB);
  ASSERT_TRUE(large) << large.error().message();
  EXPECT_EQ((*large)->size(), is_direct ? 384_MiB : 192_MiB);
}

TEST(DatasetDirectory, open_accepts_missing_header_but_no_foreign_one) {
  DatasetDirectoryFixture directories;
  DatasetDirectory directory = directories.directory_with({});
  std::ofstream(directories.temporary_directory / "data-000001.00000").close();
  EXPECT_TRUE(directory.open({.group = 1, .file = 0}));
  std::filesystem::resize_file(directories.temporary_directory / "data-000001.00000", 65'536);
  EXPECT_TRUE(directory.open({.group = 1, .file = 0}));
  ASSERT_TRUE(directory.create({.group = 2, .file = 0}, 4096));
  std::filesystem::rename(directories.temporary_directory / "data-000002.00000",
                          directories.temporary_directory / "data-000003.00000");
  EXPECT_EQ(error_class(directory.open({.group = 3, .file = 0})), ErrorClass::kDamage);
}

TEST(DatasetDirectory, refused_lustre_layout_creates_default_file) {
  DatasetDirectoryFixture directories;
  DatasetDirectory directory =
      directories.directory_with({.stripe_count = 4}, storage::FileSystem::kLustre);
  const auto file = directory.create({.group = 1, .file = 0}, 4096);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_THAT(directories.log.lines, ElementsAre(HasSubstr("set the stripe layout of a new file")));
  EXPECT_TRUE(directory.open({.group = 1, .file = 0}));
}

TEST(DatasetDirectory, requested_access_replaces_usual_one_where_it_is_supported) {
  DatasetDirectoryFixture directories;
  DatasetDirectory directory = directories.directory_with({}, storage::FileSystem::kExt);
  const auto long_file = directory.create({.group = 1, .file = 0}, 64_MiB);
  const auto buffered = directory.create({.group = 2, .file = 0}, 64_MiB, Access::kBuffered);
  const auto direct = directory.create({.group = 3, .file = 0}, 4096, Access::kDirect);
  const auto opened = directory.open({.group = 2, .file = 0}, Access::kBuffered);
  ASSERT_TRUE(long_file && buffered && direct && opened);
  EXPECT_EQ((*buffered)->access(), Access::kBuffered);
  EXPECT_EQ((*opened)->access(), Access::kBuffered);
  EXPECT_EQ((*direct)->access(), (*long_file)->access()) << "direct if this storage has it";
}

// If there is space for only one step more than is retained, files kept for reuse would take it.
TEST(DatasetDirectory, low_space_keeps_no_free_files) {
  const storage::TemporaryDirectory temporary_directory;
  DatasetDirectory directory({.directory = temporary_directory.path(), .free_files_max = 4});
  const std::uint64_t too_much =
      std::filesystem::space(temporary_directory.path()).available / 3 * 2;
  for (const std::uint64_t group : {1U, 2U})
    ASSERT_TRUE(directory.create({.group = group, .file = 0}, 4096));
  for (const std::uint64_t group : {1U, 2U})
    ASSERT_TRUE(directory.recycle({.group = group, .file = 0}));
  EXPECT_EQ(directory.free_file_count(), 2U);
  ASSERT_TRUE(directory.create({.group = 3, .file = 0}, too_much));
  EXPECT_EQ(directory.free_file_count(), 0U) << "one was reused, one removed";
  EXPECT_TRUE(directory.recycle({.group = 3, .file = 0}));
  EXPECT_EQ(directory.free_file_count(), 0U);
  EXPECT_TRUE(std::filesystem::is_empty(temporary_directory.path()));
  ASSERT_TRUE(directory.create({.group = 4, .file = 0}, 4096));
  EXPECT_TRUE(directory.recycle({.group = 4, .file = 0}));
  EXPECT_EQ(directory.free_file_count(), 1U) << "there is space again";
}

}  // namespace
}  // namespace forebay::write
