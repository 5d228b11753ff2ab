// SPDX-License-Identifier: Apache-2.0
// Which records survive which power cut, without a file: the rules of docs/formats/emufs-record.md.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tools/emufs/replay.hpp"

namespace forebay::emufs {
namespace {

constexpr std::uint64_t kA = 1;
constexpr std::uint64_t kB = 2;

constexpr std::uint64_t kFolder = 10;
constexpr std::uint64_t kOther = 11;

Record named(RecordKind kind, std::uint64_t file, std::uint64_t folder = kFolder) {
  return {.kind = kind, .file = file, .folder = folder};
}
Record changed(RecordKind kind, std::uint64_t file) { return {.kind = kind, .file = file}; }

/// create a, write a, chmod a, create b, write b, fsync a, write a.
std::vector<Record> history() {
  return {named(RecordKind::kCreate, kA),       changed(RecordKind::kWrite, kA),
          changed(RecordKind::kAttributes, kA), named(RecordKind::kCreate, kB),
          changed(RecordKind::kWrite, kB),      changed(RecordKind::kFsync, kA),
          changed(RecordKind::kWrite, kA)};
}

Survivors without_unsynced(const std::vector<Record>& records) {
  return survivors_of(records, {.unsynced = Unsynced::kNone});
}

TEST(Survivors, all_unsynced_keeps_every_record) {
  EXPECT_EQ(survivors_of(history(), {}), Survivors(7, true));
}

TEST(Survivors, fsync_of_file_keeps_its_data_and_attributes_and_no_name) {
  EXPECT_EQ(without_unsynced(history()), (Survivors{false, true, true, false, false, true, false}));
}

TEST(Survivors, fdatasync_keeps_no_attributes) {
  auto records = history();
  records[5].kind = RecordKind::kFdatasync;
  EXPECT_EQ(without_unsynced(records), (Survivors{false, true, false, false, false, true, false}));
}

TEST(Survivors, fsync_of_folder_keeps_the_names_in_it_and_no_data) {
  auto records = history();
  records.push_back(changed(RecordKind::kFsyncFolder, kFolder));
  records.push_back(named(RecordKind::kUnlink, kA));
  EXPECT_EQ(without_unsynced(records),
            (Survivors{true, true, true, true, false, true, false, true, false}));
}

TEST(Survivors, fsync_of_another_folder_keeps_no_name) {
  auto records = history();
  records.push_back(changed(RecordKind::kFsyncFolder, kOther));
  EXPECT_FALSE(without_unsynced(records)[0]);
}

TEST(Survivors, rename_is_kept_by_fsync_of_the_folder_with_the_new_name) {
  Record rename = named(RecordKind::kRename, kA);
  rename.to_folder = kOther;
  for (const std::uint64_t synced : {kFolder, kOther}) {
    const Survivors survivors = without_unsynced(
        {named(RecordKind::kCreate, kA), rename, changed(RecordKind::kFsyncFolder, synced)});
    EXPECT_EQ(survivors, (Survivors{synced == kFolder, synced == kOther, true}));
  }
}

TEST(Survivors, records_after_the_cut_never_were) {
  const Survivors survivors = survivors_of(history(), {.after = 5, .unsynced = Unsynced::kNone});
  EXPECT_EQ(survivors, Survivors(5, false));
}

TEST(Survivors, random_loses_names_of_a_folder_from_some_record_on_and_nothing_synced) {
  std::vector<Record> records;
  for (std::uint64_t file = 1; file <= 6; ++file) {
    records.push_back(named(RecordKind::kCreate, file));
    if (file == 3) records.push_back(changed(RecordKind::kFsyncFolder, kFolder));
  }
  std::set<std::size_t> kept;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto survivors = survivors_of(records, {.unsynced = Unsynced::kRandom, .seed = seed});
    const auto lost = std::ranges::find(survivors, false);
    EXPECT_EQ(std::count(lost, survivors.end(), true), 0);
    kept.insert(static_cast<std::size_t>(lost - survivors.begin()));
  }
  EXPECT_EQ(kept, (std::set<std::size_t>{4, 5, 6, 7}));
}

TEST(Survivors, sync_of_all_keeps_everything_before_it) {
  auto records = history();
  records.push_back({.kind = RecordKind::kSyncAll});
  EXPECT_EQ(without_unsynced(records), Survivors(8, true));
}

TEST(Survivors, about_half_of_the_pages_come_back_and_the_same_for_a_seed) {
  int survived = 0;
  for (std::uint64_t page = 0; page < 1000; ++page) {
    if (page_survives(1, 2, page)) ++survived;
    EXPECT_EQ(page_survives(1, 2, page), page_survives(1, 2, page));
  }
  EXPECT_GT(survived, 400);
  EXPECT_LT(survived, 600);
}

}  // namespace
}  // namespace forebay::emufs
