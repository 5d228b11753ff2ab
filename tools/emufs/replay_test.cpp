// SPDX-License-Identifier: Apache-2.0
// Replays arbitrary recordings with valid checksums: whatever they name, nothing outside the
// directory is changed, and the replay ends.
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

constexpr std::string_view kOutsideContent = "precious";

/// A directory to replay in, beside a file and a directory that must not change.
class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() {
    fs::create_directory(above_ / "outside");
    std::ofstream(above_ / "outside" / "file") << kOutsideContent;
    ::chmod((above_ / "outside" / "file").c_str(), 0644);
    reset_directory();
  }

  void reset_directory() {
    fs::remove_all(above_ / "in");
    fs::create_directory(above_ / "in");
  }

  Result<ReplayResult> run_replay(const std::vector<Record>& records,
                                  Unsynced unsynced = Unsynced::kAll) const {
    const fs::path path = above_ / "recording";
    std::ofstream file(path, std::ios::binary);
    file << recording_header();
    std::uint64_t number = 0;
    for (const Record& record : records)
      file << encode(record, ++number);
    file.close();
    return replay({.record = path, .directory = above_ / "in", .unsynced = unsynced});
  }

  /// Checks what a replay could change if it left its directory.
  void expect_outside_is_as_it_was() const {
    struct stat is{};
    ASSERT_EQ(::lstat((above_ / "outside" / "file").c_str(), &is), 0);
    EXPECT_EQ(is.st_mode, S_IFREG | 0644U);
    EXPECT_EQ(is.st_nlink, 1U);
    std::ifstream file(above_ / "outside" / "file");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), kOutsideContent);
    EXPECT_EQ(std::distance(fs::directory_iterator(above_ / "outside"), {}), 1);
    EXPECT_EQ(std::distance(fs::directory_iterator(above_), {}), 3);
  }

  const TemporaryDirectory own_;
  const fs::path above_ = own_.path();
};

Record root() { return {.kind = RecordKind::kExisting, .file = 1}; }

Record name_record(RecordKind kind, std::uint64_t file, std::string name) {
  return {.kind = kind, .file = file, .directory = 1, .name = std::move(name), .mode = 0755};
}

TEST_F(ReplayTest, name_that_is_not_one_component_is_damage) {
  for (const char* name : {"..", ".", "", "../outside/new", "/tmp", "a/b"}) {
    const auto reply = run_replay({root(), name_record(RecordKind::kCreate, 2, name)});
    ASSERT_FALSE(reply) << name;
    EXPECT_EQ(reply.error().kind(), ErrorClass::kDamage) << name;
  }
  auto away = name_record(RecordKind::kRename, 2, "a");
  away.to_directory = 1;
  away.to_name = "../outside/a";
  const auto reply = run_replay({root(), name_record(RecordKind::kCreate, 2, "a"), away});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorClass::kDamage);
  expect_outside_is_as_it_was();
}

/// The recording treats a link as a file.
TEST_F(ReplayTest, no_change_goes_through_a_link) {
  auto link = name_record(RecordKind::kSymlink, 2, "link");
  link.data = "../outside/file";
  const std::vector<Record> changes = {
      {.kind = RecordKind::kWrite, .file = 2, .data = "worthless"},
      {.kind = RecordKind::kTruncate, .file = 2},
      {.kind = RecordKind::kFallocate, .file = 2, .size = 4096},
      {.kind = RecordKind::kSetXattr, .file = 2, .name = "user.a", .data = "b"},
  };
  for (const Record& change : changes) {
    reset_directory();
    EXPECT_FALSE(run_replay({root(), link, change})) << name_of(change.kind);
    expect_outside_is_as_it_was();
  }
  reset_directory();
  EXPECT_TRUE(run_replay({root(), link, {.kind = RecordKind::kAttributes, .file = 2}}));
  expect_outside_is_as_it_was();
}

TEST_F(ReplayTest, link_is_not_followed_as_a_directory) {
  auto link = name_record(RecordKind::kSymlink, 2, "link");
  link.data = "../outside";
  auto below = name_record(RecordKind::kUnlink, 3, "file");
  below.directory = 2;
  EXPECT_FALSE(run_replay({root(), link, below}));
  reset_directory();
  fs::create_directory_symlink(above_ / "outside", above_ / "in" / "known");
  EXPECT_FALSE(run_replay({root(), name_record(RecordKind::kExisting, 2, "known"), below}));
  expect_outside_is_as_it_was();
}

TEST_F(ReplayTest, write_to_a_pipe_fails_without_blocking) {
  auto pipe = name_record(RecordKind::kMknod, 2, "pipe");
  pipe.mode = S_IFIFO | 0644U;
  for (const auto unsynced : {Unsynced::kAll, Unsynced::kRandom}) {
    reset_directory();
    const std::vector<Record> records = {root(),
                                         pipe,
                                         {.kind = RecordKind::kSyncAll},
                                         {.kind = RecordKind::kWrite, .file = 2, .data = "x"}};
    EXPECT_FALSE(run_replay(records, unsynced));
  }
}

TEST_F(ReplayTest, cycle_of_directories_fails) {
  auto back = name_record(RecordKind::kExisting, 2, "a");
  back.directory = 3;
  auto forth = name_record(RecordKind::kExisting, 3, "b");
  forth.directory = 2;
  const auto reply = run_replay({root(), back, forth, {.kind = RecordKind::kTruncate, .file = 2}});
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message().find("symbolic links"), std::string::npos);
}

TEST_F(ReplayTest, ranges_beyond_file_offsets_are_damage) {
  const Record write{.kind = RecordKind::kWrite, .file = 2, .offset = UINT64_MAX - 1, .data = "ab"};
  const Record truncate{.kind = RecordKind::kTruncate, .file = 2, .size = UINT64_MAX};
  for (const Record& record : {write, truncate}) {
    reset_directory();
    const auto reply = run_replay({root(), name_record(RecordKind::kCreate, 2, "a"), record});
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().kind(), ErrorClass::kDamage);
  }
}

/// A random record over few files and names, so that records collide.
Record any_record(std::mt19937_64& random) {
  const std::vector<std::string> names = {"a", "b", "c", "link", "outside", "file"};
  const std::vector<std::string> targets = {"..", "../outside", "../outside/file", "a", "/"};
  const std::vector<std::uint32_t> modes = {0, 0644, 0755, S_IFREG | 0600U, S_IFIFO | 0600U};
  const auto kind = static_cast<RecordKind>(1 + random() % 20);
  return {.kind = kind,
          .file = random() % 6,
          .directory = random() % 6,
          .to_directory = random() % 6,
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

/// Creates a file under a temporary name in directory `made_in`, then moves it to directory 3,
/// `final`.
std::vector<Record> moved_file(std::uint64_t made_in) {
  auto file = name_record(RecordKind::kCreate, 4, "new");
  file.directory = made_in;
  auto move = name_record(RecordKind::kRename, 4, "new");
  move.directory = made_in;
  move.to_directory = 3;
  move.to_name = "file";
  return {root(),
          name_record(RecordKind::kMkdir, 2, "temporary"),
          name_record(RecordKind::kMkdir, 3, "final"),
          sync_of(1, RecordKind::kFsyncDirectory),
          file,
          write_of(4),
          sync_of(4, RecordKind::kFsync),
          move};
}

TEST_F(ReplayTest, file_synced_without_its_directory_loses_its_name) {
  std::vector<Record> records = {root(), name_record(RecordKind::kCreate, 2, "a"), write_of(2),
                                 sync_of(2, RecordKind::kFsync)};
  ASSERT_TRUE(run_replay(records, Unsynced::kNone));
  EXPECT_TRUE(fs::is_empty(above_ / "in"));
  reset_directory();
  records.push_back(sync_of(1, RecordKind::kFsyncDirectory));
  ASSERT_TRUE(run_replay(records, Unsynced::kNone));
  EXPECT_EQ(fs::file_size(above_ / "in" / "a"), 1U);
}

TEST_F(ReplayTest, rename_survives_sync_of_the_new_directory_alone) {
  for (const std::uint64_t made_in : {2U, 3U}) {
    reset_directory();
    auto records = moved_file(made_in);
    ASSERT_TRUE(run_replay(records, Unsynced::kNone));
    EXPECT_TRUE(fs::is_empty(above_ / "in" / "final"));
    reset_directory();
    records.push_back(sync_of(3, RecordKind::kFsyncDirectory));
    ASSERT_TRUE(run_replay(records, Unsynced::kNone));
    EXPECT_EQ(fs::file_size(above_ / "in" / "final" / "file"), 1U);
    EXPECT_TRUE(fs::is_empty(above_ / "in" / "temporary"));
    EXPECT_EQ(std::distance(fs::directory_iterator(above_ / "in"), {}), 2);
  }
}

TEST_F(ReplayTest, unsynced_removal_restores_the_old_file) {
  // Another file reuses the inode number. Its bytes are synced, its name is not.
  const std::vector<Record> records = {root(),
                                       name_record(RecordKind::kCreate, 2, "old"),
                                       write_of(2),
                                       sync_of(2, RecordKind::kFsync),
                                       sync_of(1, RecordKind::kFsyncDirectory),
                                       name_record(RecordKind::kUnlink, 2, "old"),
                                       name_record(RecordKind::kCreate, 2, "new"),
                                       {.kind = RecordKind::kWrite, .file = 2, .data = "other"},
                                       sync_of(2, RecordKind::kFsync)};
  ASSERT_TRUE(run_replay(records, Unsynced::kNone));
  EXPECT_EQ(fs::file_size(above_ / "in" / "old"), 1U);
  EXPECT_FALSE(fs::exists(above_ / "in" / "new"));
}

TEST_F(ReplayTest, exchanged_names_are_swapped) {
  auto exchange = name_record(RecordKind::kRename, 2, "a");
  exchange.to_directory = 1;
  exchange.to_name = "b";
  exchange.size = RENAME_EXCHANGE;
  ASSERT_TRUE(run_replay({root(), name_record(RecordKind::kCreate, 2, "a"),
                          name_record(RecordKind::kCreate, 3, "b"), write_of(3), exchange}));
  EXPECT_EQ(fs::file_size(above_ / "in" / "a"), 1U);
  EXPECT_EQ(fs::file_size(above_ / "in" / "b"), 0U);
}

TEST_F(ReplayTest, random_recordings_stay_in_the_directory) {
  std::mt19937_64 random(1);
  constexpr int kHistories = kThreadSanitizer ? 12 : 30;
  for (int history = 0; history < kHistories; ++history) {
    std::vector<Record> records = {root()};
    while (records.size() < 40)
      records.push_back(any_record(random));
    // A failed record ends a replay; without it, the others are replayed.
    for (;;) {
      reset_directory();
      const auto reply = run_replay(records, static_cast<Unsynced>(history % 3));
      if (reply) break;
      const std::string message = reply.error().message();
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
