// SPDX-License-Identifier: Apache-2.0
// The faults themselves: they occur, they are repeatable, and no operation is lost.
#include "storage/faulty.hpp"

#include <algorithm>
#include <cerrno>
#include <map>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "storage/memory_backend.hpp"
#include "storage/memory_file.hpp"
#include "storage/testing.hpp"

namespace forebay::storage {
namespace {

constexpr std::uint64_t kAttempts = 400;

/// The results of many attempts under a plan, in the order of completion.
std::vector<RawCompletion> attempts_under(const FaultPlan& plan) {
  MemoryFile file("data", pattern(100));
  std::vector<std::byte> memory(100);
  FaultyBackend backend(std::make_unique<MemoryBackend>(16), plan);
  std::vector<RawCompletion> results;
  std::array<RawCompletion, 16> some;
  std::uint64_t submitted = 0;
  while (results.size() < kAttempts) {
    while (submitted < kAttempts) {
      const Operation read = read_operation(file, 0, memory, submitted);
      if (backend.submit({&read, 1}) == 0) break;
      ++submitted;
    }
    const std::size_t count = backend.wait(some, std::nullopt);
    results.insert(results.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return results;
}

std::size_t count_of(const std::vector<RawCompletion>& results, std::int64_t result) {
  return static_cast<std::size_t>(std::ranges::count(results, result, &RawCompletion::result));
}

bool is_in_order(const std::vector<RawCompletion>& results) {
  return std::ranges::is_sorted(results, {}, &RawCompletion::tag);
}

bool has_equal_results(const std::vector<RawCompletion>& a, const std::vector<RawCompletion>& b) {
  return std::ranges::equal(a, b, [](const RawCompletion& x, const RawCompletion& y) {
    return x.tag == y.tag && x.result == y.result;
  });
}

TEST(FaultyBackend, no_faults_without_a_plan) {
  EXPECT_EQ(count_of(attempts_under({}), 100), kAttempts);
}

TEST(FaultyBackend, faults_occur_with_about_their_probability) {
  const auto results =
      attempts_under({.short_transfer = 0.25, .interrupted = 0.25, .try_again = 0.25});
  EXPECT_GT(count_of(results, -EINTR), kAttempts / 8);
  EXPECT_GT(count_of(results, -EAGAIN), kAttempts / 8);
  const auto is_short = [](const RawCompletion& r) { return r.result > 0 && r.result < 100; };
  EXPECT_GT(std::ranges::count_if(results, is_short), 0);
  EXPECT_EQ(count_of(results, 0), 0U);
  EXPECT_GT(count_of(attempts_under({.io_error = 0.5}), -EIO), kAttempts / 4);
}

TEST(FaultyBackend, delayed_completions_are_overtaken_and_not_lost) {
  auto results = attempts_under({.delayed = 0.5});
  EXPECT_FALSE(is_in_order(results));
  std::ranges::sort(results, {}, &RawCompletion::tag);
  for (std::uint64_t tag = 0; tag < kAttempts; ++tag)
    ASSERT_EQ(results[tag].tag, tag);
}

TEST(FaultyBackend, the_same_seed_gives_the_same_faults) {
  FaultPlan plan{.seed = 5, .short_transfer = 0.3, .interrupted = 0.3, .delayed = 0.3};
  const auto first = attempts_under(plan);
  EXPECT_TRUE(has_equal_results(first, attempts_under(plan)));
  plan.seed = 6;
  EXPECT_FALSE(has_equal_results(first, attempts_under(plan)));
}

TEST(FaultyFile, bad_offset_fails_transfers_that_touch_it) {
  FaultyFile file(std::make_unique<MemoryFile>("data", pattern(100)), {.bad_offset = 50});
  std::vector<std::byte> memory(100);
  EXPECT_EQ(*file.read_at(std::span(memory).first(50), 0), 50U);
  EXPECT_EQ(*file.read_at(std::span(memory).first(49), 51), 49U);
  const auto read = file.read_at(memory, 0);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().error_number(), EIO);
  EXPECT_EQ(read.error().offset_bytes(), 50U);
  EXPECT_FALSE(file.write_at(std::span(memory).first(1), 50));
  EXPECT_EQ(*file.write_at(std::span(memory).first(1), 51), 1U);
}

TEST(FaultyFile, file_ends_before_its_size) {
  FaultyFile file(std::make_unique<MemoryFile>("data", pattern(100)), {.end_offset = 30});
  std::vector<std::byte> memory(100);
  EXPECT_EQ(*file.size(), 100U);
  EXPECT_EQ(*file.read_at(memory, 0), 30U);
  EXPECT_EQ(*file.read_at(memory, 25), 5U);
  EXPECT_EQ(*file.read_at(memory, 30), 0U);
  EXPECT_EQ(*file.read_at(memory, 90), 0U);
  EXPECT_EQ(file.descriptor(), -1);
}

TEST(FileDecorator, calls_reach_the_inner_file) {
  const TemporaryDirectory directory;
  const OpenOptions options{.intent = Intent::kCreate};
  const auto plain = must_open(directory / "plain", options);
  FileDecorator file(must_open(directory / "wrapped", options));
  EXPECT_EQ(file.path(), directory / "wrapped");
  EXPECT_EQ(file.file_system(), plain->file_system());
  EXPECT_EQ(file.free_bytes().has_value(), plain->free_bytes().has_value());
  EXPECT_EQ(file.reserve({0, 65536}).has_value(), plain->reserve({0, 65536}).has_value());
  EXPECT_EQ(*file.size(), 0U);
  ASSERT_TRUE(file.write_at(pattern(65536), 0));
  ASSERT_TRUE(plain->write_at(pattern(65536), 0));
  EXPECT_TRUE(file.sync());
  const ByteRange hole{4096, 4096};
  EXPECT_EQ(file.punch_hole(hole).has_value(), plain->punch_hole(hole).has_value());
  EXPECT_TRUE(file.truncate(100));
  EXPECT_EQ(*file.size(), 100U);
  EXPECT_EQ(file.descriptor(), -1);
}

}  // namespace
}  // namespace forebay::storage
