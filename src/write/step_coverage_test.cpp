// SPDX-License-Identifier: Apache-2.0
#include "write/step_coverage.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

/// Coverage of parts of "density" that one rank has put, in this order.
StepCoverage parts_of_rank(std::uint32_t rank, const std::vector<std::uint64_t>& parts) {
  RankMetadata record = test_metadata(1, 0, parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    record.blocks[i].part = parts[i];
  return coverage_of({&record, 1}, {&rank, 1});
}

/// Coverage of a box of the global array "pressure".
StepCoverage box_of_rank(std::uint32_t rank, const std::vector<std::uint64_t>& start_and_count) {
  RankMetadata record{.step = 1};
  record.fields.push_back(
      {.name = "pressure", .kind = format::FieldKind::kGlobal, .dimensions = 2, .shape = {16, 8}});
  record.dims = start_and_count;
  record.blocks.push_back({.raw_bytes = 8 * start_and_count[2] * start_and_count[3]});
  return coverage_of({&record, 1}, {&rank, 1});
}

/// The overlap of files whose coverage is sent as messages; empty: none.
std::string overlap_of(const std::vector<StepCoverage>& files) {
  std::vector<StepCoverage> arrived;
  for (const StepCoverage& file : files)
    arrived.push_back(coverage_from_bytes(to_bytes(file)).value());
  const Status checked = check_no_overlap(1, merge_coverage(std::move(arrived)));
  return checked ? "" : checked.error().message();
}

TEST(StepCoverage, consecutive_parts_of_rank_form_one_range) {
  const StepCoverage coverage = parts_of_rank(3, {4, 7, 5, 6, 9});
  ASSERT_EQ(coverage.size(), 1U);
  const std::vector<PartRange>& parts = coverage[0].parts;
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].first, 4U);
  EXPECT_EQ(parts[0].count, 4U);
  EXPECT_EQ(parts[1].first, 9U);
  EXPECT_EQ(parts[1].rank, 3U);
}

TEST(StepCoverage, ranges_are_sorted_for_parts_in_any_order) {
  std::mt19937_64 random(5);
  for (std::size_t count = 0; count < 40; ++count) {
    std::vector<std::uint64_t> parts(count);
    for (std::size_t i = 0; i < count; ++i)
      parts[i] = 2 * i;
    const std::vector<std::uint64_t> rising = parts;
    std::ranges::shuffle(parts, random);
    std::vector<std::uint64_t> found;
    const StepCoverage coverage = parts_of_rank(0, parts);
    for (const PartRange& claim : coverage[0].parts)
      found.push_back(claim.first);
    ASSERT_EQ(found, rising);
  }
}

TEST(StepCoverage, alternating_parts_of_two_files_do_not_overlap) {
  EXPECT_EQ(overlap_of({parts_of_rank(0, {0, 2, 4}), parts_of_rank(1, {5, 3, 1})}), "");
  EXPECT_EQ(overlap_of({parts_of_rank(1, {3, 4, 5}), parts_of_rank(0, {0, 1, 2})}), "");
}

TEST(StepCoverage, part_in_two_files_names_part_field_and_both_ranks) {
  const std::string overlap =
      "rank 2: write step 1: part 5 of field density was put by ranks 0 and 2";
  EXPECT_EQ(overlap_of({parts_of_rank(0, {3, 4, 5}), parts_of_rank(2, {5})}), overlap);
  EXPECT_EQ(overlap_of({parts_of_rank(2, {3, 4, 5}), parts_of_rank(0, {5, 6})}), overlap);
  EXPECT_EQ(overlap_of({parts_of_rank(0, {4, 5, 6, 7}), parts_of_rank(1, {0, 1, 2}),
                        parts_of_rank(2, {5})}),
            overlap);
}

TEST(StepCoverage, overlapping_boxes_name_both_ranks_and_boxes) {
  EXPECT_EQ(overlap_of({box_of_rank(1, {0, 0, 4, 8}), box_of_rank(0, {4, 0, 4, 8})}), "");
  EXPECT_EQ(overlap_of({box_of_rank(1, {0, 0, 4, 8}), box_of_rank(0, {3, 2, 4, 4})}),
            "rank 1: write step 1: blocks of field pressure overlap: rank 0 put 4 x 4 elements "
            "from 3, 2 on, and rank 1 put 4 x 8 elements from 0, 0 on");
}

TEST(StepCoverage, empty_boxes_never_overlap_and_empty_parts_do) {
  EXPECT_EQ(overlap_of({box_of_rank(0, {0, 0, 4, 8}), box_of_rank(1, {1, 1, 0, 4})}), "");
  RankMetadata empty = test_metadata(1, 5, 1);
  empty.blocks[0].raw_bytes = 0;
  const std::uint32_t rank = 1;
  EXPECT_NE(overlap_of({parts_of_rank(0, {5}), coverage_of({&empty, 1}, {&rank, 1})}), "");
}

}  // namespace
}  // namespace forebay::write
