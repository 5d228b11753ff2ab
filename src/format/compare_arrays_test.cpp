// SPDX-License-Identifier: Apache-2.0
// diff() of global arrays that are cut into blocks in any way.
#include <cstring>

#include "format/dataset_testing.hpp"
#include "format/diff.hpp"

namespace forebay::format {
namespace {

using CompareArrays = DatasetTest;

/// An array of 6 x 4 numbers, each its place, in blocks of so many rows and columns.
TestStep grid(std::uint64_t rows, std::uint64_t columns) {
  TestStep step = {.step = 1};
  for (std::uint64_t row = 0; row < 6; row += rows) {
    for (std::uint64_t column = 0; column < 4; column += columns) {
      TestBlock block = {.field = {.name = "grid",
                                   .type = ElementType::kInt32,
                                   .kind = FieldKind::kGlobal,
                                   .dimensions = 2,
                                   .shape = {6, 4}},
                         .start = {row, column},
                         .shape = {rows, columns}};
      for (std::uint64_t i = 0; i < rows * columns; ++i) {
        const auto value =
            static_cast<std::int32_t>((row + i / columns) * 4 + column + i % columns);
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        block.raw.insert(block.raw.end(), bytes, bytes + sizeof value);
      }
      step.blocks.push_back(std::move(block));
    }
  }
  return step;
}

TEST_F(CompareArrays, arrays_that_are_cut_differently_are_the_same) {
  const auto left = written("a", grid(2, 4));
  const auto right = written("b", grid(3, 2));
  const auto report = diff(*left, *right);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->fields.empty());
  TestStep changed = grid(3, 2);
  changed.blocks[3].raw[4] ^= std::byte{64};  // row 3, column 3: 15
  const auto other = diff(*left, *written("c", changed));
  ASSERT_TRUE(other) << other.error().message();
  ASSERT_EQ(other->fields.size(), 1U);
  EXPECT_EQ(other->fields[0].absolute_max, 64);
  EXPECT_EQ(other->fields[0].blocks[0].key, 8U);
  EXPECT_EQ(other->fields[0].blocks[0].first_element, 7U);
  changed.blocks.pop_back();
  changed.blocks.pop_back();
  const auto less = diff(*left, *written("d", changed));
  ASSERT_TRUE(less) << less.error().message();
  EXPECT_EQ(less->fields[0].blocks_different, 2U);
}

TEST_F(CompareArrays, of_several_differences_in_a_box_the_first_is_told) {
  const auto left = written("a", grid(6, 4));
  TestStep changed = grid(6, 2);
  changed.blocks[0].raw[2 * 2 * 4] ^= std::byte{1};  // row 2, column 0
  changed.blocks[1].raw[0] ^= std::byte{1};          // row 0, column 2
  std::swap(changed.blocks[0], changed.blocks[1]);
  for (int order = 0; order < 2; ++order) {
    const auto report = diff(*left, *written("b" + std::to_string(order), changed));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->fields[0].blocks[0].elements, 2U);
    EXPECT_EQ(report->fields[0].blocks[0].first_element, 2U);
    std::swap(changed.blocks[0], changed.blocks[1]);
  }
}

// One of them would have hidden the other, and what the other had alone.
TEST_F(CompareArrays, elements_that_two_blocks_of_a_side_have_are_damage) {
  const auto left = written("a", grid(3, 4));
  TestStep overlapping = grid(3, 2);
  TestBlock& block = overlapping.blocks[1];  // columns 1 and 2 of the upper rows, not 2 and 3
  block.start[1] = 1;
  const auto right = written("b", overlapping);
  for (const auto& report : {diff(*left, *right), diff(*right, *left), diff(*right, *right)}) {
    ASSERT_EQ(error_class(report), ErrorClass::kDamage);
    for (const char* text : {"compare", "block at element 0", "block at element 1"})
      EXPECT_TRUE(mentions(report.error(), text)) << report.error().message();
  }
}

}  // namespace
}  // namespace forebay::format
