// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/chunk_grid.hpp"

#include <gtest/gtest.h>

namespace forebay::dataset_tool {
namespace {

using format::Box;
using format::Coordinates;

/// All blocks of a grid, in descending order; those at the ends are shorter.
std::vector<Box> split_array(const Coordinates& shape, const Coordinates& chunk) {
  std::vector<Box> boxes;
  for (std::uint64_t i = 0; i < shape[0]; i += chunk[0])
    for (std::uint64_t j = 0; j < shape[1]; j += chunk[1])
      boxes.insert(boxes.begin(),
                   {{i, j}, {std::min(chunk[0], shape[0] - i), std::min(chunk[1], shape[1] - j)}});
  return boxes;
}

std::string refusal_cause(const Coordinates& shape, const std::vector<Box>& boxes) {
  const auto grid = find_grid(shape, boxes);
  return grid ? "" : grid.error().cause();
}

TEST(ChunkGrid, is_found_in_any_order_of_blocks) {
  const auto grid = find_grid(Coordinates{6, 8}, split_array({6, 8}, {3, 2}));
  ASSERT_TRUE(grid) << grid.error().message();
  EXPECT_EQ(grid->chunk, (Coordinates{3, 2}));
  EXPECT_EQ(grid->count, (Coordinates{2, 4}));
  EXPECT_EQ(chunk_key(*grid, Coordinates{3, 6}), "1.3");
}

TEST(ChunkGrid, may_be_short_at_the_end_of_dimension_0) {
  const auto grid = find_grid(Coordinates{7, 8}, split_array({7, 8}, {3, 2}));
  ASSERT_TRUE(grid) << grid.error().message();
  EXPECT_EQ(grid->count, (Coordinates{3, 4}));
}

TEST(ChunkGrid, is_rejected_if_another_dimension_is_short) {
  EXPECT_EQ(refusal_cause({6, 7}, split_array({6, 7}, {3, 2})),
            "the block at (3, 6) has (3, 1) elements, the first one (3, 2)");
}

TEST(ChunkGrid, is_rejected_if_blocks_are_missing_or_irregular) {
  std::vector<Box> boxes = split_array({6, 8}, {3, 2});
  EXPECT_EQ(refusal_cause({6, 8}, {}), "no block has the first element");
  const Box last = boxes.front();
  boxes.erase(boxes.begin());
  EXPECT_EQ(refusal_cause({6, 8}, boxes), "1 of 8 blocks are missing");
  boxes.push_back(boxes.front());
  EXPECT_EQ(refusal_cause({6, 8}, boxes), "the block at (3, 4) occurs twice");
  boxes.back() = {{2, 6}, {3, 2}};
  EXPECT_EQ(refusal_cause({6, 8}, boxes),
            "the block at (2, 6) has (3, 2) elements, the first one (3, 2)");
}

TEST(ChunkGrid, of_uneven_blocks_has_their_common_divisor_of_rows) {
  const std::vector<Box> boxes{{{0, 0}, {4, 8}}, {{4, 0}, {4, 8}}, {{8, 0}, {6, 8}}};
  EXPECT_EQ(refusal_cause({14, 8}, boxes),
            "the block at (8, 0) has (6, 8) elements, the first one (4, 8)");
  const auto grid = find_grid(Coordinates{14, 8}, boxes, SplitMode::kByRows);
  ASSERT_TRUE(grid) << grid.error().message();
  EXPECT_EQ(grid->chunk, (Coordinates{2, 8}));
  EXPECT_EQ(grid->count, (Coordinates{7, 1}));
  EXPECT_EQ(find_grid(Coordinates{7, 8}, split_array({7, 8}, {3, 2}), SplitMode::kByRows)->chunk,
            (Coordinates{3, 2}))
      << "blocks that fit are not split";
  EXPECT_FALSE(find_grid(Coordinates{14, 8}, std::span(boxes).first(2), SplitMode::kByRows));
  const std::vector<Box> multiple{{{0, 0}, {2, 8}}, {{2, 0}, {4, 8}}};
  EXPECT_FALSE(find_grid(Coordinates{6, 8}, multiple)) << "a compressed block is one chunk";
  EXPECT_TRUE(find_grid(Coordinates{6, 8}, multiple, SplitMode::kByRows));
}

}  // namespace
}  // namespace forebay::dataset_tool
