// SPDX-License-Identifier: Apache-2.0
#include "write/contested_blocks.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

/// Parts of "density" that one rank has put, in this order.
StepClaims parts_of_rank(std::uint32_t rank, const std::vector<std::uint64_t>& parts) {
  RankStep record = rank_step_of(1, 0, parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    record.blocks[i].part = parts[i];
  return claims_of({&record, 1}, {&rank, 1});
}

/// A box of the global array "pressure".
StepClaims box_of_rank(std::uint32_t rank, const std::vector<std::uint64_t>& start_and_count) {
  RankStep record{.step = 1};
  record.fields.push_back(
      {.name = "pressure", .kind = format::FieldKind::kGlobal, .dimensions = 2, .shape = {16, 8}});
  record.extents = start_and_count;
  record.blocks.push_back({.raw_bytes = 8 * start_and_count[2] * start_and_count[3]});
  return claims_of({&record, 1}, {&rank, 1});
}

/// What is wrong with files that travel as letters; empty: nothing.
std::string contest_of(const std::vector<StepClaims>& files) {
  std::vector<StepClaims> arrived;
  for (const StepClaims& file : files)
    arrived.push_back(claims_from(to_bytes(file)).value());
  const Status checked = check_uncontested(1, merged(std::move(arrived)));
  return checked ? "" : checked.error().message();
}

TEST(ContestedBlocks, consecutive_parts_of_a_rank_are_one_claim) {
  const StepClaims claims = parts_of_rank(3, {4, 7, 5, 6, 9});
  ASSERT_EQ(claims.size(), 1U);
  const std::vector<PartClaim>& parts = claims[0].parts;
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].first, 4U);
  EXPECT_EQ(parts[0].count, 4U);
  EXPECT_EQ(parts[1].first, 9U);
  EXPECT_EQ(parts[1].rank, 3U);
}

TEST(ContestedBlocks, parts_in_any_order_rise_in_claims) {
  std::mt19937_64 random(5);
  for (std::size_t count = 0; count < 40; ++count) {
    std::vector<std::uint64_t> parts(count);
    for (std::size_t i = 0; i < count; ++i)
      parts[i] = 2 * i;
    const std::vector<std::uint64_t> rising = parts;
    std::ranges::shuffle(parts, random);
    std::vector<std::uint64_t> found;
    const StepClaims claims = parts_of_rank(0, parts);
    for (const PartClaim& claim : claims[0].parts)
      found.push_back(claim.first);
    ASSERT_EQ(found, rising);
  }
}

TEST(ContestedBlocks, parts_that_alternate_between_files_are_uncontested) {
  EXPECT_EQ(contest_of({parts_of_rank(0, {0, 2, 4}), parts_of_rank(1, {5, 3, 1})}), "");
  EXPECT_EQ(contest_of({parts_of_rank(1, {3, 4, 5}), parts_of_rank(0, {0, 1, 2})}), "");
}

TEST(ContestedBlocks, a_part_in_two_files_names_part_field_and_both_ranks) {
  const std::string contest =
      "rank 2: write step 1: part 5 of field density was put by ranks 0 and 2";
  EXPECT_EQ(contest_of({parts_of_rank(0, {3, 4, 5}), parts_of_rank(2, {5})}), contest);
  EXPECT_EQ(contest_of({parts_of_rank(2, {3, 4, 5}), parts_of_rank(0, {5, 6})}), contest);
  EXPECT_EQ(contest_of({parts_of_rank(0, {4, 5, 6, 7}), parts_of_rank(1, {0, 1, 2}),
                        parts_of_rank(2, {5})}),
            contest);
}

TEST(ContestedBlocks, boxes_in_two_files_that_share_elements_name_both_ranks_and_boxes) {
  EXPECT_EQ(contest_of({box_of_rank(1, {0, 0, 4, 8}), box_of_rank(0, {4, 0, 4, 8})}), "");
  EXPECT_EQ(contest_of({box_of_rank(1, {0, 0, 4, 8}), box_of_rank(0, {3, 2, 4, 4})}),
            "rank 1: write step 1: blocks of field pressure overlap: rank 0 put 4 x 4 elements "
            "from 3, 2 on, and rank 1 put 4 x 8 elements from 0, 0 on");
}

TEST(ContestedBlocks, empty_boxes_claim_nothing_and_empty_parts_do) {
  EXPECT_EQ(contest_of({box_of_rank(0, {0, 0, 4, 8}), box_of_rank(1, {1, 1, 0, 4})}), "");
  RankStep empty = rank_step_of(1, 5, 1);
  empty.blocks[0].raw_bytes = 0;
  const std::uint32_t rank = 1;
  EXPECT_NE(contest_of({parts_of_rank(0, {5}), claims_of({&empty, 1}, {&rank, 1})}), "");
}

}  // namespace
}  // namespace forebay::write
