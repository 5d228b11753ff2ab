// SPDX-License-Identifier: Apache-2.0
// Which records survive which power cut, without files: the rules of docs/formats/emufs-record.md.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tools/emufs/replay.hpp"

namespace forebay::emufs {
namespace {

constexpr std::uint64_t kA = 1;
constexpr std::uint64_t kB = 2;

constexpr std::uint64_t kDirectory = 10;
constexpr std::uint64_t kOther = 11;

Record name_record(RecordKind kind, std::uint64_t file, std::uint64_t directory = kDirectory) {
  return {.kind = kind, .file = file, .directory = directory};
}
Record change_record(RecordKind kind, std::uint64_t file) { return {.kind = kind, .file = file}; }

/// create a, write a, chmod a, create b, write b, fsync a, write a.
std::vector<Record> history() {
  return {name_record(RecordKind::kCreate, kA),       change_record(RecordKind::kWrite, kA),
          change_record(RecordKind::kAttributes, kA), name_record(RecordKind::kCreate, kB),
          change_record(RecordKind::kWrite, kB),      change_record(RecordKind::kFsync, kA),
          change_record(RecordKind::kWrite, kA)};
}

SurvivingRecords without_unsynced(const std::vector<Record>& records) {
  return surviving_records(records, {.unsynced = Unsynced::kNone});
}

TEST(SurvivingRecords, all_unsynced_keeps_every_record) {
  EXPECT_EQ(surviving_records(history(), {}), SurvivingRecords(7, true));
}

TEST(SurvivingRecords, fsync_of_file_keeps_data_and_attributes_but_no_name) {
  EXPECT_EQ(without_unsynced(history()),
            (SurvivingRecords{false, true, true, false, false, true, false}));
}

TEST(SurvivingRecords, fdatasync_keeps_no_attributes) {
  auto records = history();
  records[5].kind = RecordKind::kFdatasync;
  EXPECT_EQ(without_unsynced(records),
            (SurvivingRecords{false, true, false, false, false, true, false}));
}

TEST(SurvivingRecords, fsync_of_directory_keeps_the_names_in_it_and_no_data) {
  auto records = history();
  records.push_back(change_record(RecordKind::kFsyncDirectory, kDirectory));
  records.push_back(name_record(RecordKind::kUnlink, kA));
  EXPECT_EQ(without_unsynced(records),
            (SurvivingRecords{true, true, true, true, false, true, false, true, false}));
}

TEST(SurvivingRecords, fsync_of_another_directory_keeps_no_name) {
  auto records = history();
  records.push_back(change_record(RecordKind::kFsyncDirectory, kOther));
  EXPECT_FALSE(without_unsynced(records)[0]);
}

TEST(SurvivingRecords, rename_is_kept_by_fsync_of_the_directory_with_the_new_name) {
  Record rename = name_record(RecordKind::kRename, kA);
  rename.to_directory = kOther;
  for (const std::uint64_t synced : {kDirectory, kOther}) {
    const SurvivingRecords surviving =
        without_unsynced({name_record(RecordKind::kCreate, kA), rename,
                          change_record(RecordKind::kFsyncDirectory, synced)});
    EXPECT_EQ(surviving, (SurvivingRecords{synced == kDirectory, synced == kOther, true}));
  }
}

TEST(SurvivingRecords, records_after_the_cut_are_lost) {
  const SurvivingRecords surviving =
      surviving_records(history(), {.after = 5, .unsynced = Unsynced::kNone});
  EXPECT_EQ(surviving, SurvivingRecords(5, false));
}

TEST(SurvivingRecords, random_loses_only_unsynced_names_from_some_record_on) {
  std::vector<Record> records;
  for (std::uint64_t file = 1; file <= 6; ++file) {
    records.push_back(name_record(RecordKind::kCreate, file));
    if (file == 3) records.push_back(change_record(RecordKind::kFsyncDirectory, kDirectory));
  }
  std::set<std::size_t> kept;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto surviving =
        surviving_records(records, {.unsynced = Unsynced::kRandom, .seed = seed});
    const auto lost = std::ranges::find(surviving, false);
    EXPECT_EQ(std::count(lost, surviving.end(), true), 0);
    kept.insert(static_cast<std::size_t>(lost - surviving.begin()));
  }
  EXPECT_EQ(kept, (std::set<std::size_t>{4, 5, 6, 7}));
}

TEST(SurvivingRecords, sync_all_keeps_all_records_before_it) {
  auto records = history();
  records.push_back({.kind = RecordKind::kSyncAll});
  EXPECT_EQ(without_unsynced(records), SurvivingRecords(8, true));
}

TEST(SurvivingRecords, half_of_the_pages_survive_and_equal_seeds_agree) {
  int survived = 0;
  for (std::uint64_t page = 0; page < 1000; ++page) {
    if (is_page_kept(1, 2, page)) ++survived;
    EXPECT_EQ(is_page_kept(1, 2, page), is_page_kept(1, 2, page));
  }
  EXPECT_GT(survived, 400);
  EXPECT_LT(survived, 600);
}

}  // namespace
}  // namespace forebay::emufs
