// SPDX-License-Identifier: Apache-2.0
// Every row of docs/decisions/0001-buffered-or-direct.md.
#include "storage/access_rule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/memory_file.hpp"
#include "storage/testing.hpp"

namespace forebay::storage {
namespace {

using ::testing::HasSubstr;

/// The facts in which direct access is right.
AccessFacts long_cold_read() {
  return {.file_system = FileSystem::kExt,
          .direct_works = true,
          .range_bytes = 1_GiB,
          .cached_fraction = 0.0};
}

TEST(AccessRule, long_cold_read_is_direct) {
  const AccessDecision decision = choose_access(long_cold_read());
  EXPECT_EQ(decision.access, Access::kDirect);
  EXPECT_THAT(decision.reason, HasSubstr("0 %"));
}

TEST(AccessRule, without_direct_access_it_is_buffered) {
  AccessFacts facts = long_cold_read();
  facts.direct_works = false;
  facts.file_system = FileSystem::kTmpfs;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered);
  EXPECT_THAT(choose_access(facts).reason, HasSubstr("tmpfs"));
}

TEST(AccessRule, file_systems_with_caches_of_their_own_are_buffered) {
  AccessFacts facts = long_cold_read();
  for (const FileSystem kind : {FileSystem::kNfs, FileSystem::kFuse, FileSystem::kLustre,
                                FileSystem::kCluster, FileSystem::kOther}) {
    facts.file_system = kind;
    EXPECT_EQ(choose_access(facts).access, Access::kBuffered) << name_of(kind);
  }
  for (const FileSystem kind :
       {FileSystem::kExt, FileSystem::kXfs, FileSystem::kBtrfs, FileSystem::kOverlay}) {
    facts.file_system = kind;
    EXPECT_EQ(choose_access(facts).access, Access::kDirect) << name_of(kind);
  }
}

TEST(AccessRule, where_plans_know_the_servers_it_is_direct) {
  AccessFacts facts = long_cold_read();
  facts.file_system = FileSystem::kLustre;
  facts.storage_known = true;
  EXPECT_EQ(choose_access(facts).access, Access::kDirect);
  facts.cached_fraction = 1;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered) << "it is in memory";
  facts.cached_fraction = 0;
  facts.range_bytes = kDirectRangeBytesMinFar;
  EXPECT_EQ(choose_access(facts).access, Access::kDirect);
  facts.range_bytes = kDirectRangeBytesMinFar - 1;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered) << "too short";
  facts.range_bytes = kDirectRangeBytesMinFar;
  facts.file_system = FileSystem::kExt;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered) << "a disk reads ahead as well";
}

TEST(AccessRule, short_reads_are_buffered) {
  AccessFacts facts = long_cold_read();
  facts.range_bytes = kDirectRangeBytesMin - 1;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered);
  facts.range_bytes = kDirectRangeBytesMin;
  EXPECT_EQ(choose_access(facts).access, Access::kDirect);
}

TEST(AccessRule, cached_reads_are_buffered) {
  AccessFacts facts = long_cold_read();
  facts.cached_fraction = kDirectCachedFractionMax;
  EXPECT_EQ(choose_access(facts).access, Access::kDirect);
  facts.cached_fraction = 0.62;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered);
  EXPECT_THAT(choose_access(facts).reason, HasSubstr("62 %"));
}

TEST(AccessRule, unknown_cache_counts_as_empty) {
  AccessFacts facts = long_cold_read();
  facts.cached_fraction = std::nullopt;
  EXPECT_EQ(choose_access(facts).access, Access::kDirect);
  EXPECT_THAT(choose_access(facts).reason, HasSubstr("could not be asked"));
}

TEST(AccessFacts, real_file_tells_its_facts) {
  const TemporaryFolder folder;
  write_pattern_file(folder / "data", 1_MiB);
  const auto file = must_open(folder / "data");
  const AccessFacts facts = access_facts(*file, {1000, all});
  EXPECT_EQ(facts.range_bytes, 1_MiB - 1000);
  EXPECT_EQ(facts.file_system, file->file_system());
  EXPECT_EQ(facts.direct_works,
            open_file(folder / "data", {.access = Access::kDirect}).has_value());
}

TEST(AccessFacts, file_in_memory_has_no_direct_access) {
  const MemoryFile file("memory", pattern(100));
  const AccessFacts facts = access_facts(file, {0, 50});
  EXPECT_FALSE(facts.direct_works);
  EXPECT_EQ(facts.range_bytes, 50U);
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered);
}

}  // namespace
}  // namespace forebay::storage
