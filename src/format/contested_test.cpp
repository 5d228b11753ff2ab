// SPDX-License-Identifier: Apache-2.0
#include "format/contested.hpp"

#include "format/dataset_testing.hpp"

namespace forebay::format {
namespace {

TestBlock block_of_u(std::uint64_t start, std::uint64_t count, std::uint32_t file) {
  TestBlock block = {
      .field = {.name = "u", .type = ElementType::kInt32, .kind = FieldKind::kGlobal, .shape = {8}},
      .start = {start},
      .shape = {count},
      .file = file};
  block.raw.resize(count * sizeof(std::int32_t));
  return block;
}

using ContestedTest = DatasetTest;

Status check(const StepCatalog& step, std::string_view field) {
  return check_uncontested(step, *step.find_field(field), "export");
}

TEST_F(ContestedTest, blocks_that_only_touch_are_not) {
  const auto step =
      written("u", {.step = 1, .files = 2, .blocks = {block_of_u(0, 4, 0), block_of_u(4, 4, 1)}});
  EXPECT_TRUE(check(*step, "u"));
  EXPECT_TRUE(check(*written("parts", test_step(1, 5, 2)), "velocity"));
}

TEST_F(ContestedTest, blocks_that_share_an_element_are_both_named_with_their_files) {
  for (const std::uint32_t file : {0U, 1U}) {
    for (const std::uint64_t start : {0U, 3U}) {
      const auto step = written(
          "u", {.step = 1,
                .files = 2,
                .blocks = {block_of_u(start == 0 ? 3 : 0, 4, 0), block_of_u(start, 4, file)}});
      const Status clear = check(*step, "u");
      ASSERT_EQ(error_class(clear), ErrorClass::kDamage);
      for (const char* text : {"export", "block at element 0", "block at element 3",
                               "data-000000.00000", file == 0 ? "of" : "data-000000.00001"})
        EXPECT_TRUE(mentions(clear.error(), text)) << clear.error().message();
    }
  }
}

TEST_F(ContestedTest, parts_that_two_files_have_are_contested) {
  TestStep given = test_step(1, 3, 2);
  given.blocks.push_back(given.blocks[0]);
  given.blocks.back().file = 1;
  const auto step = written("twice", given);
  EXPECT_TRUE(check(*step, "velocity"));
  const Status clear = check(*step, "pressure");
  ASSERT_EQ(error_class(clear), ErrorClass::kDamage);
  for (const char* text : {"field pressure, part 0", "data-000000.00000", "data-000000.00001"})
    EXPECT_TRUE(mentions(clear.error(), text)) << clear.error().message();
}

TEST_F(ContestedTest, damages_of_a_step_names_one_part_of_each_field_that_two_files_have) {
  TestStep given = test_step(1, 3, 2);
  EXPECT_TRUE(damages_of(*written("once", given)).empty());
  const std::vector<TestBlock> blocks = given.blocks;
  for (TestBlock block : blocks) {
    if (block.field.name != "pressure") continue;
    block.file = 1 - block.file;
    given.blocks.push_back(block);
  }
  const auto step = written("twice", given);
  EXPECT_TRUE(step->damages().empty());
  const auto damages = damages_of(*step);
  ASSERT_EQ(damages.size(), 1U);
  EXPECT_TRUE(mentions(damages[0], "field pressure, part ")) << damages[0].message();
}

}  // namespace
}  // namespace forebay::format
