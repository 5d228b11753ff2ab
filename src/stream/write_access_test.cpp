// SPDX-License-Identifier: Apache-2.0
// Every row of the table "Buffered or direct" in docs/guides/writing.md.
#include "stream/write_access.hpp"

#include <forebay/range.hpp>

#include <gtest/gtest.h>

namespace forebay::stream {
namespace {

using storage::FileSystem;

WriteAccessFacts long_file_facts() {
  return {.file_system = FileSystem::kExt, .is_direct_supported = true, .expected_bytes = 1_GiB};
}

TEST(WriteAccess, long_files_and_those_of_unknown_length_are_direct) {
  WriteAccessFacts facts = long_file_facts();
  EXPECT_EQ(choose_write_access(facts).access, Access::kDirect);
  facts.expected_bytes = 0;
  EXPECT_EQ(choose_write_access(facts).access, Access::kDirect);
  facts.expected_bytes = kDirectOutputBytesMin;
  EXPECT_EQ(choose_write_access(facts).access, Access::kDirect);
}

TEST(WriteAccess, files_without_direct_access_are_buffered) {
  WriteAccessFacts facts = long_file_facts();
  facts.is_direct_supported = false;
  facts.file_system = FileSystem::kTmpfs;
  const auto decision = choose_write_access(facts);
  EXPECT_EQ(decision.access, Access::kBuffered);
  EXPECT_EQ(decision.reason, "buffered: this file on tmpfs has no direct access");
}

TEST(WriteAccess, file_systems_that_write_behind_are_buffered) {
  for (const FileSystem kind :
       {FileSystem::kNfs, FileSystem::kLustre, FileSystem::kCluster, FileSystem::kOther}) {
    WriteAccessFacts facts = long_file_facts();
    facts.file_system = kind;
    EXPECT_EQ(choose_write_access(facts).access, Access::kBuffered);
  }
}

TEST(WriteAccess, on_fuse_all_but_the_shortest_are_direct) {
  WriteAccessFacts facts = long_file_facts();
  facts.file_system = FileSystem::kFuse;
  for (const std::uint64_t expected : {std::uint64_t{0}, kDirectOnFuseBytesMin, 1_GiB}) {
    facts.expected_bytes = expected;
    EXPECT_EQ(choose_write_access(facts).access, Access::kDirect);
  }
  facts.expected_bytes = kDirectOnFuseBytesMin - 1;
  EXPECT_EQ(choose_write_access(facts).access, Access::kBuffered);
  facts.expected_bytes = 1_GiB;
  facts.is_cached = true;
  EXPECT_EQ(choose_write_access(facts).access, Access::kBuffered);
}

TEST(WriteAccess, short_files_are_buffered) {
  WriteAccessFacts facts = long_file_facts();
  facts.expected_bytes = kDirectOutputBytesMin - 1;
  EXPECT_EQ(choose_write_access(facts).access, Access::kBuffered);
}

TEST(WriteAccess, cached_files_are_buffered) {
  WriteAccessFacts facts = long_file_facts();
  facts.is_cached = true;
  EXPECT_EQ(choose_write_access(facts).access, Access::kBuffered);
}

TEST(WriteAccess, the_limit_of_a_device_depends_on_its_kind) {
  EXPECT_LT(default_in_flight(FileSystem::kExt).bytes, default_in_flight(FileSystem::kNfs).bytes);
  EXPECT_LT(default_in_flight(FileSystem::kTmpfs).bytes, default_in_flight(FileSystem::kExt).bytes);
}

}  // namespace
}  // namespace forebay::stream
