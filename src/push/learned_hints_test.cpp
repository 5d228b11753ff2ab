// SPDX-License-Identifier: Apache-2.0
#include "push/learned_hints.hpp"

#include <chrono>
#include <tuple>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "push/testing.hpp"
#include "trace/signature_search.hpp"

namespace forebay::push {
namespace {

FileHint hint_of(const std::string& file, std::uint64_t reads) {
  const Stream stream = strided(reads, 4096, 100);
  return {file,
          std::make_shared<const trace::Signature>(
              trace::signature_of(stream, trace::Operation::kRead).value()),
          reads, 1};
}

TEST(LearnedHints, streams_become_hints_with_the_longest_of_a_file_first) {
  LearnedHints learned;
  learned.add("b", strided(50, 4096, 100));
  learned.add("a", strided(10, 8192, 100));
  learned.add("a", strided(90, 4096, 100));
  learned.add("a", strided(90, 4096, 100));  // of another thread
  const auto hints = learned.merge({});
  ASSERT_EQ(hints.size(), 3U);
  EXPECT_EQ(hints[0].reads, 90U);
  EXPECT_EQ(hints[1].reads, 10U);
  EXPECT_EQ(hints[2].file, "b");
}

TEST(LearnedHints, short_long_and_random_streams_are_not_kept) {
  LearnedHints learned;
  learned.add("short", strided(3, 4096, 100));
  learned.add("long", strided(LearnedHints::kReadsMax + 1, 4096, 100));
  learned.add("random", scattered(500, 1'000'000));
  learned.add("not UTF-8: \xff", strided(50, 4096, 100));
  EXPECT_TRUE(learned.merge({}).empty());
}

TEST(LearnedHints, earlier_hints_stay_for_files_that_were_not_read) {
  LearnedHints learned;
  learned.add("a", strided(50, 4096, 100));
  const std::vector<FileHint> earlier = {hint_of("a", 7), hint_of("b", 9)};
  const auto hints = learned.merge(earlier);
  ASSERT_EQ(hints.size(), 2U);
  EXPECT_EQ(hints[0].reads, 50U);
  EXPECT_EQ(hints[1].file, "b");
}

TEST(LearnedHints, interrupted_run_keeps_the_longer_hint_of_the_same_version) {
  LearnedHints whole(0);
  const Stream reads = scattered(500, 1'000'000);
  const FileVersion version{1'000'000, 7};
  whole.add("a", reads, version);
  const auto earlier = whole.merge({});
  const Stream begun(reads.begin(), reads.begin() + 20);
  Stream other = begun;
  other.back().offset += 1;
  for (const auto& [begin, found, expected] :
       {std::tuple(begun, version, 500U), std::tuple(begun, FileVersion{1'000'000, 8}, 20U),
        std::tuple(other, version, 20U)}) {
    LearnedHints learned(0);
    learned.add("a", begin, found);
    const auto hints = learned.merge(earlier);
    ASSERT_EQ(hints.size(), 1U);
    EXPECT_EQ(hints[0].reads, expected);
  }
}

TEST(LearnedHints, many_files_are_merged_in_a_moment) {
  LearnedHints learned(0, 1);
  std::size_t kept = 0;
  for (int i = 0; i < 100'000; ++i)
    kept += learned.add("/data/file-" + std::to_string(i), {{0, 100}}) ? 1 : 0;
  EXPECT_EQ(kept, LearnedHints::kStreamsMax);
  const auto begin = std::chrono::steady_clock::now();
  const auto hints = learned.merge({});
  EXPECT_EQ(hints.size(), kHintsMax);
  EXPECT_EQ(learned.merge(hints).size(), kHintsMax);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(LearnedHints, written_file_is_read_back_and_matches_only_its_path) {
  const TemporaryDirectory directory;
  LearnedHints learned;
  const std::string file = "/data/a[1]*?\\ \"x\" \t.bin";
  learned.add(file, strided(50, 4096, 100));
  ASSERT_TRUE(write_hint_file(directory / "hints", learned.merge({})));
  const auto read = read_hint_file(directory / "hints");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(hints_for(*read, file).size(), 1U);
  EXPECT_TRUE(hints_for(*read, "/data/a1xx\\ \"x\" \t.bin").empty());
}

TEST(LearnedHints, file_in_a_missing_directory_is_an_error) {
  const TemporaryDirectory directory;
  const Status written = write_hint_file(directory / "absent/hints", {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind(), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::push
