// SPDX-License-Identifier: Apache-2.0
// Replaying recordings that say anything, with sound checksums: whatever they name, nothing outside
// of the folder is touched, and replaying ends.
#include "tools/emufs/replay.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sanitizer.hpp"
#include "base/testing.hpp"

namespace forebay::emufs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrecious = "precious";

/// A folder to replay in, beside a file and a folder that must stay as they are.
class Replaying : public ::testing::Test {
 protected:
  Replaying() {
    fs::create_directory(above_ / "outside");
    std::ofstream(above_ / "outside" / "file") << kPrecious;
    ::chmod((above_ / "outside" / "file").c_str(), 0644);
    start_anew();
  }

  void start_anew() {
    fs::remove_all(above_ / "in");
    fs::create_directory(above_ / "in");
  }

  Result<Replayed> replayed(const std::vector<Record>& records,
                            Unsynced unsynced = Unsynced::kAll) const {
    const fs::path path = above_ / "recording";
    std::ofstream file(path, std::ios::binary);
    file << record_file_head();
    std::uint64_t number = 0;
    for (const Record& record : records)
      file << encode(record, ++number);
    file.close();
    return replay({.record = path, .folder = above_ / "in", .unsynced = unsynced});
  }

  /// What a replay could reach if it left its folder.
  void expect_outside_is_as_it_was() const {
    struct stat is{};
    ASSERT_EQ(::lstat((above_ / "outside" / "file").c_str(), &is), 0);
    EXPECT_EQ(is.st_mode, S_IFREG | 0644U);
    EXPECT_EQ(is.st_nlink, 1U);
    std::ifstream file(above_ / "outside" / "file");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), kPrecious);
    EXPECT_EQ(std::distance(fs::directory_iterator(above_ / "outside"), {}), 1);
    EXPECT_EQ(std::distance(fs::directory_iterator(above_), {}), 3);
  }

  const TemporaryFolder own_;
  const fs::path above_ = own_.path();
};

Record root() { return {.kind = RecordKind::kKnown, .file = 1}; }

Record named(RecordKind kind, std::uint64_t file, std::string name) {
  return {.kind = kind, .file = file, .folder = 1, .name = std::move(name), .mode = 0755};
}

TEST_F(Replaying, a_name_that_leads_elsewhere_is_damage) {
  for (const char* name : {"..", ".", "", "../outside/new", "/tmp", "a/b"}) {
    const auto answer = replayed({root(), named(RecordKind::kCreate, 2, name)});
    ASSERT_FALSE(answer) << name;
    EXPECT_EQ(answer.error().kind(), ErrorClass::kDamage) << name;
  }
  auto away = named(RecordKind::kRename, 2, "a");
  away.to_folder = 1;
  away.to_name = "../outside/a";
  const auto answer = replayed({root(), named(RecordKind::kCreate, 2, "a"), away});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind(), ErrorClass::kDamage);
  expect_outside_is_as_it_was();
}

/// Of what a recording says is a file, and a link is.
TEST_F(Replaying, no_change_goes_through_a_link) {
  auto link = named(RecordKind::kSymlink, 2, "link");
  link.data = "../outside/file";
  const std::vector<Record> changes = {
      {.kind = RecordKind::kWrite, .file = 2, .data = "worthless"},
      {.kind = RecordKind::kTruncate, .file = 2},
      {.kind = RecordKind::kFallocate, .file = 2, .size = 4096},
      {.kind = RecordKind::kSetXattr, .file = 2, .name = "user.a", .data = "b"},
  };
  for (const Record& change : changes) {
    start_anew();
    EXPECT_FALSE(replayed({root(), link, change})) << name_of(change.kind);
    expect_outside_is_as_it_was();
  }
  start_anew();
  EXPECT_TRUE(replayed({root(), link, {.kind = RecordKind::kAttributes, .file = 2}}));
  expect_outside_is_as_it_was();
}

TEST_F(Replaying, no_folder_is_a_link) {
  auto link = named(RecordKind::kSymlink, 2, "link");
  link.data = "../outside";
  auto below = named(RecordKind::kUnlink, 3, "file");
  below.folder = 2;
  EXPECT_FALSE(replayed({root(), link, below}));
  start_anew();
  fs::create_directory_symlink(above_ / "outside", above_ / "in" / "known");
  EXPECT_FALSE(replayed({root(), named(RecordKind::kKnown, 2, "known"), below}));
  expect_outside_is_as_it_was();
}

TEST_F(Replaying, a_pipe_that_is_written_is_told_and_not_waited_for) {
  auto pipe = named(RecordKind::kMknod, 2, "pipe");
  pipe.mode = S_IFIFO | 0644U;
  for (const auto unsynced : {Unsynced::kAll, Unsynced::kRandom}) {
    start_anew();
    const std::vector<Record> records = {root(),
                                         pipe,
                                         {.kind = RecordKind::kSyncAll},
                                         {.kind = RecordKind::kWrite, .file = 2, .data = "x"}};
    EXPECT_FALSE(replayed(records, unsynced));
  }
}

TEST_F(Replaying, folders_in_a_ring_are_told) {
  auto back = named(RecordKind::kKnown, 2, "a");
  back.folder = 3;
  auto forth = named(RecordKind::kKnown, 3, "b");
  forth.folder = 2;
  const auto answer = replayed({root(), back, forth, {.kind = RecordKind::kTruncate, .file = 2}});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message().find("symbolic links"), std::string::npos);
}

TEST_F(Replaying, ranges_that_no_file_has_are_damage) {
  const Record write{.kind = RecordKind::kWrite, .file = 2, .offset = UINT64_MAX - 1, .data = "ab"};
  const Record truncate{.kind = RecordKind::kTruncate, .file = 2, .size = UINT64_MAX};
  for (const Record& record : {write, truncate}) {
    start_anew();
    const auto answer = replayed({root(), named(RecordKind::kCreate, 2, "a"), record});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind(), ErrorClass::kDamage);
  }
}

/// Any record, of few files and names, so that they meet.
Record any_record(std::mt19937_64& random) {
  const std::vector<std::string> names = {"a", "b", "c", "link", "outside", "file"};
  const std::vector<std::string> targets = {"..", "../outside", "../outside/file", "a", "/"};
  const std::vector<std::uint32_t> modes = {0, 0644, 0755, S_IFREG | 0600U, S_IFIFO | 0600U};
  const auto kind = static_cast<RecordKind>(1 + random() % 20);
  return {.kind = kind,
          .file = random() % 6,
          .folder = random() % 6,
          .to_folder = random() % 6,
          .name = names[random() % names.size()],
          .to_name = names[random() % names.size()],
          .offset = random() % 10'000,
          .size = kind == RecordKind::kRename ? random() % 3 : random() % 10'000,
          .mode = modes[random() % modes.size()],
          .user = ::geteuid(),
          .group = ::getegid(),
          .data = targets[random() % targets.size()]};
}

Record sync_of(std::uint64_t file, RecordKind kind) { return {.kind = kind, .file = file}; }
Record write_of(std::uint64_t file) {
  return {.kind = RecordKind::kWrite, .file = file, .data = "x"};
}

/// As writing under a temporary name is: in folder `made_in`, and moved to folder 3, `final`.
std::vector<Record> moved_file(std::uint64_t made_in) {
  auto file = named(RecordKind::kCreate, 4, "new");
  file.folder = made_in;
  auto move = named(RecordKind::kRename, 4, "new");
  move.folder = made_in;
  move.to_folder = 3;
  move.to_name = "file";
  return {root(),
          named(RecordKind::kMkdir, 2, "temporary"),
          named(RecordKind::kMkdir, 3, "final"),
          sync_of(1, RecordKind::kFsyncFolder),
          file,
          write_of(4),
          sync_of(4, RecordKind::kFsync),
          move};
}

TEST_F(Replaying, file_synced_without_its_folder_loses_its_name) {
  std::vector<Record> records = {root(), named(RecordKind::kCreate, 2, "a"), write_of(2),
                                 sync_of(2, RecordKind::kFsync)};
  ASSERT_TRUE(replayed(records, Unsynced::kNone));
  EXPECT_TRUE(fs::is_empty(above_ / "in"));
  start_anew();
  records.push_back(sync_of(1, RecordKind::kFsyncFolder));
  ASSERT_TRUE(replayed(records, Unsynced::kNone));
  EXPECT_EQ(fs::file_size(above_ / "in" / "a"), 1U);
}

TEST_F(Replaying, rename_survives_sync_of_the_new_folder_though_the_old_one_was_not_synced) {
  for (const std::uint64_t made_in : {2U, 3U}) {
    start_anew();
    auto records = moved_file(made_in);
    ASSERT_TRUE(replayed(records, Unsynced::kNone));
    EXPECT_TRUE(fs::is_empty(above_ / "in" / "final"));
    start_anew();
    records.push_back(sync_of(3, RecordKind::kFsyncFolder));
    ASSERT_TRUE(replayed(records, Unsynced::kNone));
    EXPECT_EQ(fs::file_size(above_ / "in" / "final" / "file"), 1U);
    EXPECT_TRUE(fs::is_empty(above_ / "in" / "temporary"));
    EXPECT_EQ(std::distance(fs::directory_iterator(above_ / "in"), {}), 2);
  }
}

TEST_F(Replaying, removal_without_sync_of_the_folder_brings_the_old_file_back) {
  // The inode's number is used again by another file, whose bytes are synced and whose name is not.
  const std::vector<Record> records = {root(),
                                       named(RecordKind::kCreate, 2, "old"),
                                       write_of(2),
                                       sync_of(2, RecordKind::kFsync),
                                       sync_of(1, RecordKind::kFsyncFolder),
                                       named(RecordKind::kUnlink, 2, "old"),
                                       named(RecordKind::kCreate, 2, "new"),
                                       {.kind = RecordKind::kWrite, .file = 2, .data = "other"},
                                       sync_of(2, RecordKind::kFsync)};
  ASSERT_TRUE(replayed(records, Unsynced::kNone));
  EXPECT_EQ(fs::file_size(above_ / "in" / "old"), 1U);
  EXPECT_FALSE(fs::exists(above_ / "in" / "new"));
}

TEST_F(Replaying, names_that_are_exchanged_change_places) {
  auto exchange = named(RecordKind::kRename, 2, "a");
  exchange.to_folder = 1;
  exchange.to_name = "b";
  exchange.size = RENAME_EXCHANGE;
  ASSERT_TRUE(replayed({root(), named(RecordKind::kCreate, 2, "a"),
                        named(RecordKind::kCreate, 3, "b"), write_of(3), exchange}));
  EXPECT_EQ(fs::file_size(above_ / "in" / "a"), 1U);
  EXPECT_EQ(fs::file_size(above_ / "in" / "b"), 0U);
}

TEST_F(Replaying, anything_stays_in_the_folder) {
  std::mt19937_64 random(1);
  constexpr int kHistories = kThreadSanitizer ? 12 : 30;
  for (int history = 0; history < kHistories; ++history) {
    std::vector<Record> records = {root()};
    while (records.size() < 40)
      records.push_back(any_record(random));
    // A record that fails ends a replay; without it, the others are made.
    for (;;) {
      start_anew();
      const auto answer = replayed(records, static_cast<Unsynced>(history % 3));
      if (answer) break;
      const std::string message = answer.error().message();
      const auto at = message.find("record ");
      ASSERT_NE(at, std::string::npos) << message;
      records.erase(records.begin() + std::stol(message.substr(at + 7)) - 1);
    }
    EXPECT_FALSE(records.empty());
    expect_outside_is_as_it_was();
  }
}

}  // namespace
}  // namespace forebay::emufs
