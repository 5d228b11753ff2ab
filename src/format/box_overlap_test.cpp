// SPDX-License-Identifier: Apache-2.0
#include "format/box_overlap.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace forebay::format {
namespace {

/// An array of so many elements in each dimension, cut into so many boxes in each.
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

TEST(BoxOverlap, is_none_in_an_array_that_is_cut_in_any_way) {
  for (const std::vector<std::uint64_t>& cuts : std::vector<std::vector<std::uint64_t>>{
           {}, {1}, {100'000}, {1, 3000}, {300, 300}, {1, 1, 5000}, {40, 40, 40}, {2, 5000, 3}}) {
    std::vector<Box> boxes = cuts.empty() ? std::vector<Box>() : grid(1'000'000, cuts);
    std::ranges::shuffle(boxes, std::mt19937(7));
    EXPECT_EQ(find_overlap(boxes), std::nullopt);
  }
}

TEST(BoxOverlap, of_two_among_many_is_found_and_named) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    std::vector<Box> boxes = grid(1000, {9, 8, 7});
    const std::size_t wide = random() % boxes.size();
    // One element more to the left, where somebody else has it.
    const std::size_t d = random() % 3;
    if (boxes[wide].start[d] == 0) continue;
    --boxes[wide].start[d];
    ++boxes[wide].count[d];
    const auto found = find_overlap(boxes);
    ASSERT_TRUE(found.has_value());
    EXPECT_LT(found->first, found->second);
    EXPECT_TRUE(found->first == wide || found->second == wide);
    EXPECT_TRUE(intersect(boxes[found->first], boxes[found->second]));
  }
}

TEST(BoxOverlap, agrees_with_comparing_all_whatever_the_boxes) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    std::vector<Box> boxes;
    for (std::uint64_t i = 2 + random() % 60; i > 0; --i)
      boxes.push_back({{random() % 60, random() % 60}, {1 + random() % 4, 1 + random() % 4}});
    bool is_any = false;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for (std::size_t k = i + 1; k < boxes.size(); ++k)
        is_any = is_any || intersect(boxes[i], boxes[k]);
    EXPECT_EQ(find_overlap(boxes).has_value(), is_any);
  }
}

TEST(BoxCover, of_an_array_that_is_cut_in_any_way_lacks_only_what_is_taken_out) {
  for (const std::vector<std::uint64_t>& cuts :
       std::vector<std::vector<std::uint64_t>>{{1}, {1000}, {1, 300}, {30, 30}, {7, 8, 9}}) {
    std::vector<Box> boxes = grid(1000, cuts);
    const Box whole = grid(1000, std::vector<std::uint64_t>(cuts.size(), 1)).front();
    std::ranges::shuffle(boxes, std::mt19937(7));
    EXPECT_TRUE(is_covered(whole, boxes));
    EXPECT_TRUE(is_covered(boxes.back(), boxes));
    const Box last = boxes.back();
    boxes.back() = boxes.front();
    EXPECT_EQ(is_covered(whole, boxes), boxes.size() == 1);
    EXPECT_EQ(is_covered(last, boxes), boxes.size() == 1);
  }
  EXPECT_FALSE(is_covered({{0}, {1}}, {}));
  EXPECT_TRUE(is_covered({{5}, {0}}, {}));
  EXPECT_TRUE(is_covered({{}, {}}, std::vector<Box>{{}}));
}

TEST(BoxCover, agrees_with_looking_at_each_element) {
  std::mt19937_64 random(17);
  int covered = 0;
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    const auto any_box = [&] {
      const Place start{random() % 5, random() % 5};
      return Box{start, {1 + random() % (6 - start[0]), 1 + random() % (6 - start[1])}};
    };
    std::vector<Box> boxes(random() % 12);
    std::ranges::generate(boxes, any_box);
    const Box whole = any_box();
    bool expected = true;
    for (std::uint64_t row = 0; row < whole.count[0]; ++row)
      for (std::uint64_t column = 0; column < whole.count[1]; ++column) {
        const Box element{{whole.start[0] + row, whole.start[1] + column}, {1, 1}};
        expected &=
            std::ranges::any_of(boxes, [&](const Box& box) { return intersect(box, element); });
      }
    EXPECT_EQ(is_covered(whole, boxes), expected);
    covered += expected ? 1 : 0;
  }
  EXPECT_GT(covered, 100);
  EXPECT_LT(covered, 1900);
}

}  // namespace
}  // namespace forebay::format
