// SPDX-License-Identifier: Apache-2.0
// Limits in all repetitions, compared with 128-bit evaluation of each repetition.
#include "trace/signature_checks.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "trace/signature_bounds.hpp"
#include "trace/signature_testing.hpp"

namespace forebay::trace {
namespace {

__extension__ using Wide = __int128;

Wide wide_at(const AffineNumber& number, const LoopIndexes& indexes) {
  Wide sum = number.constant;
  for (std::size_t depth = 0; depth < kLoopDepthMax; ++depth)
    sum += Wide{number.factors[depth]} * indexes[depth];
  return sum;
}

bool is_in_limits(const Signature& signature) {
  bool is_valid = true;
  const auto is_in_range = [](Wide value) { return value >= 0 && value <= INT64_MAX; };
  expand(signature, [&](const AccessItem& access, const LoopIndexes& indexes) {
    const Wide offset = wide_at(access.offset, indexes);
    const Wide size = wide_at(access.size, indexes);
    is_valid = is_valid && is_in_range(offset) && is_in_range(size) && is_in_range(offset + size);
    if (access.interval_ns)
      is_valid = is_valid && is_in_range(wide_at(*access.interval_ns, indexes));
  });
  return is_valid;
}

TEST(CheckSignature, accepted_random_signatures_never_overflow) {
  RandomSignatures signatures(7, {.offset_max = INT64_MAX / 2, .factor_max = INT64_MAX / 4});
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Signature signature = signatures.next();
    const bool is_accepted = check_signature(signature).has_value();
    ++(is_accepted ? accepted : refused);
    EXPECT_TRUE(!is_accepted || is_in_limits(signature)) << to_text(signature);
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 500);
}

TEST(CheckSignature, is_exact_if_all_loops_have_repetitions) {
  RandomSignatures signatures(
      8, {.offset_max = INT64_MAX, .factor_max = INT64_MAX / 32, .count_factor_min = 0});
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Signature signature = signatures.next();
    const bool is_accepted = check_signature(signature).has_value();
    ++(is_accepted ? accepted : refused);
    EXPECT_EQ(is_accepted, is_in_limits(signature)) << to_text(signature);
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 500);
}

/// The cause for a text that the parser refuses.
std::string limit_refusal(const std::string& text) {
  const auto parsed = parse_signature(text, "x.hints");
  return parsed ? "accepted" : parsed.error().cause();
}

TEST(CheckSignature, overflow_in_last_repetition_only_is_refused) {
  EXPECT_TRUE(parse_signature("read {3 x (9223372036854775805 + i, 0)}").has_value());
  EXPECT_EQ(limit_refusal("read {4 x (9223372036854775805 + i, 0)}"),
            "line 1, column 11: offset exceeds 2^63 - 1 at i = 3");
  EXPECT_EQ(limit_refusal("read {3 x (9223372036854775804 + i, i)}"),
            "line 1, column 11: offset + size exceeds 2^63 - 1 at i = 2");
  EXPECT_EQ(limit_refusal("read {3 x (0, 9223372036854775806 + i)}"),
            "line 1, column 11: size exceeds 2^63 - 1 at i = 2");
  EXPECT_EQ(limit_refusal("read {3 x (0, 1, after 9223372036854775806 + i ns)}"),
            "line 1, column 11: interval exceeds 2^63 - 1 at i = 2");
}

TEST(CheckSignature, negative_number_in_last_repetition_only_is_refused) {
  EXPECT_TRUE(parse_signature("read {3 x (8192 - 4096 i, 1)}").has_value());
  EXPECT_EQ(limit_refusal("read (0, 1),\n  {4 x (8192 - 4096 i, 1)}"),
            "line 2, column 8: offset is negative at i = 3");
  EXPECT_EQ(limit_refusal("read {9 x {1 + i x (0, 7 - j)}}"),
            "line 1, column 20: size is negative at i = 8, j = 8");
}

TEST(CheckSignature, triangles_are_bounded_by_their_own_loops) {
  EXPECT_TRUE(parse_signature("read {9 x {1 + i x (4096 i - 4096 j, 1)}}").has_value());
  EXPECT_TRUE(parse_signature("read {1000000000 x {1 + i x (i, i - j)}}").has_value());
}

TEST(CheckSignature, loops_without_repetitions_are_not_evaluated) {
  EXPECT_TRUE(parse_signature("read {0 x (-5, -7)}, {-3 x {9 x (-5, 1)}}").has_value());
  EXPECT_TRUE(parse_signature("read {5 x {i - 5 x (-5, 1)}}").has_value());
}

TEST(CheckSignature, limits_hold_where_inner_loop_has_no_repetition) {
  EXPECT_EQ(limit_refusal("read {10 x {i - 5 x (4096 i - 24576, 1)}}"),
            "line 1, column 21: offset is negative at i = 0, j = 0 (limits hold also where a loop "
            "has no repetition)");
}

TEST(CheckSignature, count_that_overflows_is_refused) {
  EXPECT_EQ(limit_refusal("read {9 x {9223372036854775807 + i x (0, 1)}}"),
            "line 1, column 11: count exceeds 2^63 - 1 at i = 8");
  EXPECT_EQ(limit_refusal("read {9 x {-9223372036854775808 - i x (0, 1)}}"),
            "line 1, column 11: count is less than -2^63 at i = 8");
}

TEST(CheckSignature, number_of_accesses_is_limited) {
  EXPECT_TRUE(parse_signature("read {9223372036854775807 x (0, 1)}").has_value());
  EXPECT_EQ(limit_refusal("read {9223372036854775807 x (0, 1)}, (0, 1)"),
            "line 1, column 38: there are more than 2^63 - 1 accesses");
  EXPECT_EQ(limit_refusal("read {4294967296 x {4294967296 x (0, 1)}}"),
            "line 1, column 34: there are more than 2^63 - 1 accesses");
}

TEST(CheckSignature, list_past_greatest_offset_is_refused) {
  EXPECT_EQ(limit_refusal("read [0 1, 9223372036854775807 1]"),
            "line 1, column 6: offset + size exceeds 2^63 - 1");
  EXPECT_EQ(limit_refusal("read [9223372036854775808 0]"),
            "line 1, column 6: offset + size exceeds 2^63 - 1");
}

/// The Error of a signature that no text can express.
std::string message_of(const Signature& signature) {
  const Status checked = check_signature(signature);
  if (checked) return "accepted";
  EXPECT_EQ(checked.error().kind(), ErrorClass::kInvalidArgument);
  return checked.error().message();
}

TEST(CheckSignature, values_without_text_are_refused) {
  EXPECT_EQ(message_of({}), "check signature: item 1: has no items");
  EXPECT_EQ(message_of({.items = {ListItem{}}}), "check signature: item 1: the list is empty");
  EXPECT_EQ(message_of({.items = {AccessItem{}, LoopItem{.count = {1}}}}),
            "check signature: item 2: has no items");
  EXPECT_EQ(message_of({.items = {LoopItem{{1}, {AccessItem{{.factors = {0, 1}}}}}}}),
            "check signature: item 2: offset depends on j, but no loop around it has this "
            "variable");
  EXPECT_EQ(message_of({.items = {ListItem{{{UINT64_MAX, 2}}}}}),
            "check signature: item 1: offset + size exceeds 2^63 - 1");
}

TEST(CheckSignature, sizes_over_limits_are_refused) {
  EXPECT_EQ(message_of({.items = std::vector<Item>(kItemsMax, AccessItem{})}), "accepted");
  EXPECT_EQ(message_of({.items = std::vector<Item>(kItemsMax + 1, AccessItem{})}),
            "check signature: item 4097: a signature has at most 4096 items");
  const ListItem list{std::vector<ByteRange>(kListedAccessesMax)};
  EXPECT_EQ(message_of({.items = {list}}), "accepted");
  EXPECT_EQ(message_of({.items = {list, ListItem{{{0, 1}}}}}),
            "check signature: item 2: lists have at most 1048576 accesses");
  LoopItem nest{{1}, {AccessItem{}}};
  for (std::size_t depth = 1; depth < kLoopDepthMax; ++depth)
    nest = LoopItem{{1}, {nest}};
  EXPECT_EQ(message_of({.items = {nest}}), "accepted");
  EXPECT_EQ(message_of({.items = {LoopItem{{1}, {nest}}}}),
            "check signature: item 9: loops are nested at most 8 deep");
}

}  // namespace
}  // namespace forebay::trace
