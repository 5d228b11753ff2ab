// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/chunk_grid.hpp"

#include <gtest/gtest.h>

namespace forebay::dataset_tool {
namespace {

using format::Box;
using format::Place;

/// All blocks of a grid, in falling order; those at the ends are cut.
std::vector<Box> cut(const Place& shape, const Place& chunk) {
  std::vector<Box> boxes;
  for (std::uint64_t i = 0; i < shape[0]; i += chunk[0])
    for (std::uint64_t j = 0; j < shape[1]; j += chunk[1])
      boxes.insert(boxes.begin(),
                   {{i, j}, {std::min(chunk[0], shape[0] - i), std::min(chunk[1], shape[1] - j)}});
  return boxes;
}

std::string why_not(const Place& shape, const std::vector<Box>& boxes) {
  const auto grid = find_grid(shape, boxes);
  return grid ? "" : grid.error().cause();
}

TEST(ChunkGrid, is_found_whatever_the_order) {
  const auto grid = find_grid(Place{6, 8}, cut({6, 8}, {3, 2}));
  ASSERT_TRUE(grid) << grid.error().message();
  EXPECT_EQ(grid->chunk, (Place{3, 2}));
  EXPECT_EQ(grid->count, (Place{2, 4}));
  EXPECT_EQ(chunk_key(*grid, Place{3, 6}), "1.3");
}

TEST(ChunkGrid, may_be_short_at_the_end_of_dimension_0) {
  const auto grid = find_grid(Place{7, 8}, cut({7, 8}, {3, 2}));
  ASSERT_TRUE(grid) << grid.error().message();
  EXPECT_EQ(grid->count, (Place{3, 4}));
}

TEST(ChunkGrid, is_refused_where_another_dimension_is_short) {
  EXPECT_EQ(why_not({6, 7}, cut({6, 7}, {3, 2})),
            "the block at (3, 6) has (3, 1) elements, the first one (3, 2)");
}

TEST(ChunkGrid, is_refused_where_blocks_are_missing_or_odd) {
  std::vector<Box> boxes = cut({6, 8}, {3, 2});
  EXPECT_EQ(why_not({6, 8}, {}), "no block has the first element");
  const Box last = boxes.front();
  boxes.erase(boxes.begin());
  EXPECT_EQ(why_not({6, 8}, boxes), "1 of 8 blocks are missing");
  boxes.push_back(boxes.front());
  EXPECT_EQ(why_not({6, 8}, boxes), "the block at (3, 4) is there twice");
  boxes.back() = {{2, 6}, {3, 2}};
  EXPECT_EQ(why_not({6, 8}, boxes),
            "the block at (2, 6) has (3, 2) elements, the first one (3, 2)");
}

TEST(ChunkGrid, of_uneven_blocks_has_the_rows_that_divide_all) {
  const std::vector<Box> boxes{{{0, 0}, {4, 8}}, {{4, 0}, {4, 8}}, {{8, 0}, {6, 8}}};
  EXPECT_EQ(why_not({14, 8}, boxes),
            "the block at (8, 0) has (6, 8) elements, the first one (4, 8)");
  const auto grid = find_grid(Place{14, 8}, boxes, Cutting::kAlongRows);
  ASSERT_TRUE(grid) << grid.error().message();
  EXPECT_EQ(grid->chunk, (Place{2, 8}));
  EXPECT_EQ(grid->count, (Place{7, 1}));
  EXPECT_EQ(find_grid(Place{7, 8}, cut({7, 8}, {3, 2}), Cutting::kAlongRows)->chunk, (Place{3, 2}))
      << "what fits as it is stays so";
  EXPECT_FALSE(find_grid(Place{14, 8}, std::span(boxes).first(2), Cutting::kAlongRows));
  const std::vector<Box> multiple{{{0, 0}, {2, 8}}, {{2, 0}, {4, 8}}};
  EXPECT_FALSE(find_grid(Place{6, 8}, multiple)) << "a compressed block is one chunk";
  EXPECT_TRUE(find_grid(Place{6, 8}, multiple, Cutting::kAlongRows));
}

}  // namespace
}  // namespace forebay::dataset_tool
