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

/// Facts for which direct access is right.
AccessFacts long_cold_read() {
  return {.file_system = FileSystem::kExt,
          .is_direct_supported = true,
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
  facts.is_direct_supported = false;
  facts.file_system = FileSystem::kTmpfs;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered);
  EXPECT_THAT(choose_access(facts).reason, HasSubstr("tmpfs"));
}

TEST(AccessRule, remote_file_systems_are_buffered) {
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

TEST(AccessRule, known_remote_storage_is_direct) {
  AccessFacts facts = long_cold_read();
  facts.file_system = FileSystem::kLustre;
  facts.is_storage_known = true;
  EXPECT_EQ(choose_access(facts).access, Access::kDirect);
  facts.cached_fraction = 1;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered) << "the file is in memory";
  facts.cached_fraction = 0;
  facts.range_bytes = kDirectRangeBytesMinRemote;
  EXPECT_EQ(choose_access(facts).access, Access::kDirect);
  facts.range_bytes = kDirectRangeBytesMinRemote - 1;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered) << "too short";
  facts.range_bytes = kDirectRangeBytesMinRemote;
  facts.file_system = FileSystem::kExt;
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered) << "a disk has readahead as well";
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
  EXPECT_THAT(choose_access(facts).reason, HasSubstr("is unknown"));
}

TEST(AccessFacts, facts_match_a_real_file) {
  const TemporaryDirectory directory;
  write_pattern_file(directory / "data", 1_MiB);
  const auto file = must_open(directory / "data");
  const AccessFacts facts = access_facts(*file, {1000, 1_MiB - 1000});
  EXPECT_EQ(facts.range_bytes, 1_MiB - 1000);
  EXPECT_EQ(facts.file_system, file->file_system());
  EXPECT_EQ(facts.is_direct_supported,
            open_file(directory / "data", {.access = Access::kDirect}).has_value());
}

TEST(AccessFacts, file_in_memory_has_no_direct_access) {
  const MemoryFile file("memory", pattern(100));
  const AccessFacts facts = access_facts(file, {0, 50});
  EXPECT_FALSE(facts.is_direct_supported);
  EXPECT_EQ(facts.range_bytes, 50U);
  EXPECT_EQ(choose_access(facts).access, Access::kBuffered);
}

}  // namespace
}  // namespace forebay::storage
