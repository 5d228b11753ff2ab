// SPDX-License-Identifier: Apache-2.0
#include "format/box_overlap.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace forebay::format {
namespace {

/// An array with this number of elements in each dimension, cut into this number of boxes in each.
std::vector<Box> grid(std::uint64_t elements, std::vector<std::uint64_t> cuts) {
  std::vector<Box> boxes{{}};
  for (const std::uint64_t count : cuts) {
    std::vector<Box> next;
    for (const Box& box : boxes)
      for (std::uint64_t i = 0; i < count; ++i) {
        Box longer = box;
        longer.start.push_back(elements * i / count);
        longer.count.push_back(elements * (i + 1) / count - elements * i / count);
        next.push_back(std::move(longer));
      }
    boxes = std::move(next);
  }
  return boxes;
}

TEST(BoxOverlap, boxes_that_tile_an_array_do_not_overlap) {
  for (const std::vector<std::uint64_t>& cuts : std::vector<std::vector<std::uint64_t>>{
           {}, {1}, {100'000}, {1, 3000}, {300, 300}, {1, 1, 5000}, {40, 40, 40}, {2, 5000, 3}}) {
    std::vector<Box> boxes = cuts.empty() ? std::vector<Box>() : grid(1'000'000, cuts);
    std::ranges::shuffle(boxes, std::mt19937(7));
    EXPECT_EQ(find_overlap(boxes), std::nullopt);
  }
}

TEST(BoxOverlap, overlap_of_two_among_many_is_found) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    std::vector<Box> boxes = grid(1000, {9, 8, 7});
    const std::size_t wide = random() % boxes.size();
    // Extends the box by one element to the left, into another box.
    const std::size_t d = random() % 3;
    if (boxes[wide].start[d] == 0) continue;
    --boxes[wide].start[d];
    ++boxes[wide].count[d];
    const auto found = find_overlap(boxes);
    ASSERT_TRUE(found.has_value());
    EXPECT_LT(found->first, found->second);
    EXPECT_TRUE(found->first == wide || found->second == wide);
    EXPECT_TRUE(has_overlap(boxes[found->first], boxes[found->second]));
  }
}

TEST(BoxOverlap, agrees_with_comparing_all_pairs) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    std::vector<Box> boxes;
    for (std::uint64_t i = 2 + random() % 60; i > 0; --i)
      boxes.push_back({{random() % 60, random() % 60}, {1 + random() % 4, 1 + random() % 4}});
    bool is_any = false;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for (std::size_t k = i + 1; k < boxes.size(); ++k)
        is_any = is_any || has_overlap(boxes[i], boxes[k]);
    EXPECT_EQ(find_overlap(boxes).has_value(), is_any);
  }
}

}  // namespace
}  // namespace forebay::format
