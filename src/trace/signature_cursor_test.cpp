// SPDX-License-Identifier: Apache-2.0
// The cursor compared with direct expansion of random signatures, and its bounds.
#include "trace/signature_cursor.hpp"

#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trace/signature_testing.hpp"

namespace forebay::trace {
namespace {

SignatureCursor cursor_of(const std::string& text) {
  return SignatureCursor(std::make_shared<const Signature>(parse_signature(text).value()));
}

std::vector<Access> rest_of(SignatureCursor cursor) {
  std::vector<Access> accesses;
  for (; !cursor.is_done(); cursor.advance())
    accesses.push_back(cursor.current());
  return accesses;
}

std::vector<Access> expanded(const Signature& signature) {
  std::vector<Access> accesses;
  expand(signature, [&accesses](const AccessItem& item, const LoopIndexes& indexes) {
    std::int64_t begin_ns = accesses.empty() ? 0 : accesses.back().begin_ns;
    if (item.interval_ns && !accesses.empty()) begin_ns += item.interval_ns->at(indexes);
    accesses.push_back({static_cast<std::uint64_t>(item.offset.at(indexes)),
                        static_cast<std::uint64_t>(item.size.at(indexes)), begin_ns});
  });
  return accesses;
}

TEST(SignatureCursor, random_signatures_return_expanded_accesses_and_count) {
  RandomSignatures signatures(41, {});
  int valid = 0;
  for (int i = 0; i < 4000; ++i) {
    const Signature signature = signatures.next();
    if (!check_signature(signature)) continue;
    ++valid;
    const std::vector<Access> accesses = expanded(signature);
    EXPECT_EQ(rest_of(SignatureCursor(std::make_shared<const Signature>(signature))), accesses)
        << to_text(signature);
    EXPECT_EQ(access_count(signature), accesses.size()) << to_text(signature);
  }
  EXPECT_GT(valid, 1000);
}

TEST(SignatureCursor, sample_trace_returns_documented_offsets) {
  const auto accesses = rest_of(cursor_of("read {100 x {2 x (8192 i + 2048 j, 1024)}}"));
  ASSERT_EQ(accesses.size(), 200U);
  EXPECT_EQ(accesses[1], (Access{.offset = 2048, .size = 1024}));
  EXPECT_EQ(accesses[199], (Access{.offset = 99 * 8192 + 2048, .size = 1024}));
}

TEST(SignatureCursor, copy_is_independent) {
  SignatureCursor cursor = cursor_of("read {2 x {3 x (100 i + 10 j, 1)}, [7 1, 8 1]}, (0, 1)");
  for (int i = 0; i < 3; ++i)
    cursor.advance();
  const auto expected = rest_of(cursor);
  SignatureCursor copy = cursor;
  copy.advance();
  EXPECT_EQ(copy.position(), 4U);
  EXPECT_EQ(copy.current().offset, 8U);
  EXPECT_EQ(cursor.position(), 3U);
  EXPECT_EQ(cursor.current().offset, 7U);
  cursor = SignatureCursor(copy);
  EXPECT_EQ(rest_of(cursor).size() + 1, expected.size());
}

TEST(SignatureCursor, position_counts_accesses_before_current) {
  SignatureCursor cursor = cursor_of("read {3 x (i, 1)}, [5 1, 9 1]");
  for (std::uint64_t position = 0; position < 5; ++position) {
    EXPECT_EQ(cursor.position(), position);
    cursor.advance();
  }
  EXPECT_TRUE(cursor.is_done());
  EXPECT_EQ(cursor.position(), 5U);
}

TEST(SignatureCursor, begin_sums_intervals_after_first_access) {
  const auto accesses = rest_of(cursor_of("read {3 x (i, 1, after 5 + 2 i us)}, (9, 1), [7 1]"));
  std::vector<std::int64_t> begins;
  for (const Access& access : accesses)
    begins.push_back(access.begin_ns);
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 7000, 16000, 16000, 16000}));
}

TEST(SignatureCursor, begin_saturates) {
  const auto accesses = rest_of(cursor_of("read {4 x (i, 1, after 9223372036854775807 ns)}"));
  EXPECT_EQ(accesses.back().begin_ns, std::numeric_limits<std::int64_t>::max());
}

TEST(SignatureCursor, empty_loops_are_skipped) {
  const auto accesses =
      rest_of(cursor_of("read {0 x (0, 1)}, {3000 x {i - 2998 x (i, 1)}}, {-1 x (2, 1)}, (3, 1)"));
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_EQ(accesses[0].offset, 2999U);
  EXPECT_EQ(accesses[1].offset, 3U);
}

TEST(SignatureCursor, endless_empty_loops_end_in_bounded_time) {
  const auto start = std::chrono::steady_clock::now();
  const SignatureCursor cursor =
      cursor_of("read {9223372036854775807 x {9223372036854775807 x {0 x (0, 1)}}}, (3, 1)");
  EXPECT_TRUE(cursor.is_done());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(SignatureCursor, access_after_too_many_empty_loops_is_not_found) {
  EXPECT_FALSE(cursor_of("read {10001 x {i - 9999 x (0, 1)}}").is_done());
  EXPECT_TRUE(cursor_of("read {100001 x {i - 99999 x (0, 1)}}").is_done());
}

TEST(SignatureCursor, greatest_numbers_do_not_overflow) {
  const auto accesses =
      rest_of(cursor_of("read {2 x {2 x (9223372036854775807 - 9223372036854775807 i, 0)}}"));
  ASSERT_EQ(accesses.size(), 4U);
  EXPECT_EQ(accesses[0].offset, std::uint64_t{INT64_MAX});
  EXPECT_EQ(accesses[3].offset, 0U);
}

TEST(SignatureCursor, loop_of_greatest_count_returns_first_accesses) {
  SignatureCursor cursor = cursor_of("read {9223372036854775806 x (i, 1)}");
  cursor.advance();
  EXPECT_EQ(cursor.current().offset, 1U);
}

TEST(AccessCount, multiplies_independent_loops) {
  const auto signature =
      parse_signature("read {1000000000 x {1000000000 x (i, 1), [1 1, 2 1]}}").value();
  EXPECT_EQ(access_count(signature, 0), 3'000'000'000'000'000'000U);
}

TEST(AccessCount, enumerates_dependent_loops_up_to_limit) {
  const auto signature = parse_signature("read {1000 x {i x (j, 1)}}").value();
  EXPECT_EQ(access_count(signature, 1000), 499'500U);
  EXPECT_EQ(access_count(signature, 999), std::nullopt);
}

}  // namespace
}  // namespace forebay::trace
