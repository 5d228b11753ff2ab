// SPDX-License-Identifier: Apache-2.0
#include "format/box_tree.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace forebay::format {
namespace {

std::vector<std::uint64_t> matching_boxes(const BoxTree& tree,
                                          const std::vector<Box>& boxes,
                                          const Box& box) {
  std::vector<std::uint64_t> numbers = tree.candidates(box);
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  std::erase_if(numbers, [&](std::uint64_t number) { return !has_overlap(boxes[number], box); });
  return numbers;
}

TEST(BoxTree, agrees_with_testing_each_box) {
  std::mt19937_64 random(11);
  for (std::uint64_t count : {0, 1, 2, 15, 16, 17, 255, 256, 257, 5000}) {
    SCOPED_TRACE(count);
    const auto any_box = [&] {
      return Box{{random() % 60, random() % 60, random() % 60},
                 {1 + random() % 9, 1 + random() % 9, 1 + random() % 9}};
    };
    std::vector<Box> boxes(count);
    std::ranges::generate(boxes, any_box);
    std::ranges::sort(boxes, {}, &Box::start);
    const BoxTree tree(count, [&](std::uint64_t number) { return boxes[number]; });
    for (int i = 0; i < 200; ++i) {
      const Box requested = any_box();
      std::vector<std::uint64_t> expected;
      for (std::uint64_t number = 0; number < count; ++number)
        if (has_overlap(boxes[number], requested)) expected.push_back(number);
      EXPECT_EQ(matching_boxes(tree, boxes, requested), expected);
    }
  }
}

// Testing all boxes against each one would take minutes for many boxes.
TEST(BoxTree, returns_few_candidates_of_an_array) {
  for (const std::vector<std::uint64_t>& cuts :
       std::vector<std::vector<std::uint64_t>>{{65536}, {256, 256}, {1, 65536}, {40, 40, 40}}) {
    std::uint64_t count = 1;
    for (const std::uint64_t cut : cuts)
      count *= cut;
    const auto box_of = [&](std::uint64_t number) {
      Box box{Coordinates(cuts.size()), Coordinates(cuts.size(), 10)};
      for (std::size_t d = cuts.size(); d-- > 0; number /= cuts[d])
        box.start[d] = number % cuts[d] * 10;
      return box;
    };
    const BoxTree tree(count, box_of);
    for (const std::uint64_t number : {std::uint64_t{0}, count / 3, count - 1})
      EXPECT_LE(tree.candidates(box_of(number)).size(), 2 * BoxTree::kFanOut);
  }
}

TEST(BoxTree, box_without_dimensions_is_found) {
  const BoxTree tree(1, [](std::uint64_t) { return Box{}; });
  EXPECT_EQ(tree.candidates({}).size(), 1U);
}

}  // namespace
}  // namespace forebay::format
