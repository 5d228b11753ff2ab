// SPDX-License-Identifier: Apache-2.0
// Layouts that do not fit their box or memory. box_copy_test.cpp copies with layouts that do.
#include "format/memory_placement.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::format {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kHuge = UINT64_MAX / 2;

/// The cause of the Error, or an empty text.
std::string cause_of(const MemoryLayout& layout,
                     const Coordinates& count,
                     std::uint64_t elements,
                     MemoryAccess access = MemoryAccess::kRead) {
  const auto placement = place_in_memory(layout, {count, 8, elements * 8, access});
  if (placement) return {};
  EXPECT_EQ(placement.error().kind(), ErrorClass::kInvalidArgument);
  return placement.error().cause();
}

TEST(MemoryPlacement, defaults_are_packed) {
  const Coordinates count{2, 3, 4};
  const auto placement = place_in_memory({}, {count, 8, 2 * 3 * 4 * 8});
  ASSERT_TRUE(placement);
  EXPECT_EQ(*placement, packed_placement(count, 8));
  EXPECT_TRUE(MemoryLayout{}.is_packed());
  EXPECT_FALSE(MemoryLayout{.order = ArrayOrder::kFortran}.is_packed());
}

TEST(MemoryPlacement, ghost_layers_move_the_first_element) {
  const Coordinates count{2, 3};
  const auto placement = place_in_memory(with_ghosts(count, 2), {count, 8, 6 * 7 * 8});
  ASSERT_TRUE(placement);
  EXPECT_EQ(*placement, (MemoryPlacement{(2 * 7 + 2) * 8, {7 * 8, 8}}));
}

TEST(MemoryPlacement, members_of_other_lengths_name_both_numbers) {
  EXPECT_THAT(cause_of({.shape = {4}}, {2, 2}, 4), HasSubstr("shape of the memory layout has 1 "));
  EXPECT_THAT(cause_of({.start = {0, 0, 0}}, {2, 2}, 4), HasSubstr("has 3 dimensions, the box"));
  EXPECT_THAT(cause_of({.strides = {1}}, {2, 2}, 4), HasSubstr("strides of the memory layout"));
}

TEST(MemoryPlacement, box_outside_the_shape_names_the_dimension) {
  EXPECT_THAT(
      cause_of({.shape = {4, 5}, .start = {0, 2}}, {4, 4}, 20),
      HasSubstr("start 2 and count 4 in dimension 1 of the memory layout, whose shape has 5"));
  EXPECT_THAT(cause_of({.start = {1, 0}}, {4, 4}, 16), HasSubstr("in dimension 0"));
  EXPECT_THAT(cause_of({.shape = {4}, .start = {UINT64_MAX}}, {2}, 4), HasSubstr("in dimension 0"));
  for (const std::uint64_t layers : {kHuge, kHuge + 1, UINT64_MAX})
    EXPECT_NE(cause_of(with_ghosts({4}, layers), {4}, 4), "") << layers;
}

TEST(MemoryPlacement, memory_of_another_size_than_the_shape_is_refused) {
  EXPECT_THAT(cause_of(with_ghosts({2, 2}, 1), {2, 2}, 15),
              HasSubstr("has 16 elements of 8 bytes, the memory has 120 bytes"));
  EXPECT_NE(cause_of(with_ghosts({2, 2}, 1), {2, 2}, 17), "");
  EXPECT_NE(cause_of({.order = ArrayOrder::kFortran}, {2, 2}, 3), "");
  EXPECT_THAT(cause_of({.shape = {kHuge, kHuge}}, {2, 2}, 4), HasSubstr("too many elements"));
  EXPECT_NE(cause_of({.shape = {kHuge}}, {2}, 4), "");
}

TEST(MemoryPlacement, strides_past_the_memory_are_refused) {
  const MemoryLayout layout{.start = {1, 1}, .strides = {10, 2}};
  EXPECT_EQ(cause_of(layout, {3, 3}, 37), "");  // 1 * 10 + 1 * 2 + 2 * 10 + 2 * 2 + 1
  EXPECT_EQ(cause_of(layout, {3, 3}, 40), "");
  EXPECT_THAT(cause_of(layout, {3, 3}, 36), HasSubstr("ends at element 37 of 8 bytes"));
  EXPECT_THAT(cause_of({.strides = {kHuge, 1}}, {4, 1}, 4), HasSubstr("ends at element 2^64"));
  EXPECT_THAT(cause_of({.start = {9}, .strides = {kHuge}}, {1}, 4), HasSubstr("2^64"));
}

TEST(MemoryPlacement, elements_that_share_memory_are_refused_for_writing_alone) {
  const MemoryLayout repeated{.strides = {0, 1}};
  EXPECT_EQ(cause_of(repeated, {3, 4}, 4, MemoryAccess::kRead), "");
  EXPECT_THAT(cause_of(repeated, {3, 4}, 4, MemoryAccess::kWrite), HasSubstr("stride 0"));
  EXPECT_THAT(cause_of({.strides = {3, 1}}, {3, 4}, 10, MemoryAccess::kWrite),
              HasSubstr("stride 3 in dimension 0 of the memory layout must be larger than 3"));
  EXPECT_EQ(cause_of({.strides = {1, 3}}, {3, 4}, 12, MemoryAccess::kWrite), "");
  EXPECT_EQ(cause_of({.strides = {0, 1}}, {1, 4}, 4, MemoryAccess::kWrite), "");
}

TEST(MemoryPlacement, box_without_elements_needs_no_memory) {
  EXPECT_EQ(cause_of({.strides = {5, 7}}, {0, 4}, 0, MemoryAccess::kWrite), "");
  EXPECT_EQ(cause_of({}, {0, 4}, 0), "");
  EXPECT_NE(cause_of({.shape = {4, 4}}, {0, 4}, 0), "") << "the memory must be the whole array";
}

}  // namespace
}  // namespace forebay::format
