// SPDX-License-Identifier: Apache-2.0
#include "format/overlapping_blocks.hpp"

#include "format/dataset_testing.hpp"

namespace forebay::format {
namespace {

TestBlock make_block(std::uint64_t start, std::uint64_t count, std::uint32_t file) {
  TestBlock block = {
      .field = {.name = "u", .type = ElementType::kInt32, .kind = FieldKind::kGlobal, .shape = {8}},
      .start = {start},
      .shape = {count},
      .file = file};
  block.raw.resize(count * sizeof(std::int32_t));
  return block;
}

using OverlappingBlocksTest = DatasetTest;

Status check_field_blocks(const StepCatalog& step, std::string_view field) {
  return check_no_overlap(step, *step.find_field(field), "export");
}

TEST_F(OverlappingBlocksTest, adjacent_blocks_do_not_overlap) {
  const auto step = write_and_open(
      "u", {.step = 1, .files = 2, .blocks = {make_block(0, 4, 0), make_block(4, 4, 1)}});
  EXPECT_TRUE(check_field_blocks(*step, "u"));
  EXPECT_TRUE(check_field_blocks(*write_and_open("parts", test_step(1, 5, 2)), "velocity"));
}

TEST_F(OverlappingBlocksTest, blocks_that_share_an_element_are_named_with_their_files) {
  for (const std::uint32_t file : {0U, 1U}) {
    for (const std::uint64_t start : {0U, 3U}) {
      const auto step = write_and_open(
          "u", {.step = 1,
                .files = 2,
                .blocks = {make_block(start == 0 ? 3 : 0, 4, 0), make_block(start, 4, file)}});
      const Status clear = check_field_blocks(*step, "u");
      ASSERT_EQ(error_class(clear), ErrorClass::kDamage);
      for (const char* text : {"export", "block at element 0", "block at element 3",
                               "data-000000.00000", file == 0 ? "of" : "data-000000.00001"})
        EXPECT_TRUE(message_contains(clear.error(), text)) << clear.error().message();
    }
  }
}

TEST_F(OverlappingBlocksTest, duplicate_parts_overlap) {
  TestStep given = test_step(1, 3, 2);
  given.blocks.push_back(given.blocks[0]);
  given.blocks.back().file = 1;
  const auto step = write_and_open("twice", given);
  EXPECT_TRUE(check_field_blocks(*step, "velocity"));
  const Status clear = check_field_blocks(*step, "pressure");
  ASSERT_EQ(error_class(clear), ErrorClass::kDamage);
  for (const char* text : {"field pressure, part 0", "data-000000.00000", "data-000000.00001"})
    EXPECT_TRUE(message_contains(clear.error(), text)) << clear.error().message();
}

TEST_F(OverlappingBlocksTest, errors_of_a_step_name_one_duplicate_part_per_field) {
  TestStep given = test_step(1, 3, 2);
  EXPECT_TRUE(errors_of(*write_and_open("once", given)).empty());
  const std::vector<TestBlock> blocks = given.blocks;
  for (TestBlock block : blocks) {
    if (block.field.name != "pressure") continue;
    block.file = 1 - block.file;
    given.blocks.push_back(block);
  }
  const auto step = write_and_open("twice", given);
  EXPECT_TRUE(step->errors().empty());
  const auto damages = errors_of(*step);
  ASSERT_EQ(damages.size(), 1U);
  EXPECT_TRUE(message_contains(damages[0], "field pressure, part ")) << damages[0].message();
}

}  // namespace
}  // namespace forebay::format
