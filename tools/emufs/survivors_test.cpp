// SPDX-License-Identifier: Apache-2.0
// Which records survive which power cut, without a file: the rules of docs/formats/emufs-record.md.
#include <gtest/gtest.h>

#include "tools/emufs/replay.hpp"

namespace forebay::emufs {
namespace {

constexpr std::uint64_t kA = 1;
constexpr std::uint64_t kB = 2;

/// create a, write a, create b, write b, fsync a, write a, create c.
std::vector<Record> history() {
  return {{.kind = RecordKind::kCreate, .file = kA}, {.kind = RecordKind::kWrite, .file = kA},
          {.kind = RecordKind::kCreate, .file = kB}, {.kind = RecordKind::kWrite, .file = kB},
          {.kind = RecordKind::kFsync, .file = kA},  {.kind = RecordKind::kWrite, .file = kA},
          {.kind = RecordKind::kCreate, .file = 3}};
}

TEST(Survivors, all_that_was_made_comes_back_by_default) {
  const Survivors survivors = survivors_of(history(), {});
  EXPECT_EQ(survivors.names_until, 7U);
  EXPECT_EQ(survivors.data, std::vector<bool>(7, true));
}

TEST(Survivors, without_the_unsynced_names_end_at_the_last_sync_and_data_at_that_of_its_file) {
  const Survivors survivors = survivors_of(history(), {.unsynced = Unsynced::kNone});
  EXPECT_EQ(survivors.names_until, 5U);
  EXPECT_TRUE(survivors.data[1]);
  EXPECT_FALSE(survivors.data[3]);
  EXPECT_FALSE(survivors.data[5]);
}

TEST(Survivors, what_follows_the_cut_never_was) {
  const Survivors survivors = survivors_of(history(), {.after = 4, .unsynced = Unsynced::kNone});
  EXPECT_EQ(survivors.names_until, 0U);
  EXPECT_EQ(survivors.data.size(), 4U);
  EXPECT_FALSE(survivors.data[1]);
}

TEST(Survivors, chance_never_takes_what_is_safe) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto survivors = survivors_of(history(), {.unsynced = Unsynced::kRandom, .seed = seed});
    EXPECT_GE(survivors.names_until, 5U);
    EXPECT_LE(survivors.names_until, 7U);
    EXPECT_TRUE(survivors.data[1]);
  }
}

TEST(Survivors, a_sync_of_all_covers_every_file) {
  auto records = history();
  records.push_back({.kind = RecordKind::kSyncAll});
  const Survivors survivors = survivors_of(records, {.unsynced = Unsynced::kNone});
  EXPECT_EQ(survivors.data, std::vector<bool>(8, true));
}

TEST(Survivors, a_sync_of_a_folder_is_none_of_data) {
  auto records = history();
  records.push_back({.kind = RecordKind::kFsyncFolder, .file = kB});
  const Survivors survivors = survivors_of(records, {.unsynced = Unsynced::kNone});
  EXPECT_EQ(survivors.names_until, 8U);
  EXPECT_FALSE(survivors.data[3]);
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
