// SPDX-License-Identifier: Apache-2.0
// Datasets as opened and read, valid and with one damage at a time: losses are reported precisely,
// all other content is readable.
#include "format/catalog.hpp"

#include <cerrno>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "format/block_reader.hpp"
#include "format/dataset_testing.hpp"
#include "storage/faulty.hpp"

namespace forebay::format {
namespace {

/// Expects that every block of `given` is read from `step` with its bytes.
void expect_content(const StepCatalog& step, const TestStep& given) {
  BlockReader reader;
  for (const TestBlock& block : given.blocks) {
    const auto place = step.find_part(block.field.name, block.part);
    ASSERT_TRUE(place) << place.error().message();
    EXPECT_EQ(step.index(*place).shape(place->field, place->number), block.shape);
    const auto bytes = reader.read(step, *place);
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(*bytes, block.raw);
  }
}

using CatalogTest = DatasetTest;

TEST_F(CatalogTest, steps_are_read_from_any_number_of_files_with_and_without_a_codec) {
  TestWriter writer(path(), test_dataset_id(), 3);
  std::vector<TestStep> steps;
  for (const std::uint32_t files : {1U, 2U, 4U, 1U, 3U}) {
    steps.push_back(test_step(10 * (steps.size() + 1), 7, files));
    steps.back().codec = files % 2 == 0 ? Codec::kZstd : Codec::kNone;
    writer.write(steps.back());
  }
  const auto catalog = open();
  ASSERT_EQ(catalog->steps().size(), steps.size());
  for (const TestStep& given : steps) {
    const auto step = catalog->step(given.step);
    ASSERT_TRUE(step) << step.error().message();
    EXPECT_TRUE((*step)->errors().empty());
    EXPECT_EQ((*step)->fields().size(), 2U);
    EXPECT_EQ((*step)->find_field("pressure")->blocks, 7U);
    expect_content(**step, given);
  }
}

TEST_F(CatalogTest, missing_content_is_named) {
  TestWriter writer(path(), test_dataset_id());
  writer.write(test_step(10, 3, 1));
  const auto catalog = open();
  EXPECT_EQ(error_class(catalog->step(11)), ErrorClass::kNotFound);
  const auto step = catalog->step(10).value();
  const auto part = step->find_part("pressure", 3);
  ASSERT_EQ(error_class(part), ErrorClass::kNotFound);
  EXPECT_TRUE(message_contains(part.error(), "step 10, field pressure, part 3"));
  EXPECT_EQ(error_class(step->find_part("presure", 0)), ErrorClass::kNotFound);
  EXPECT_EQ(error_class(Catalog::open(directory_ / "nothing.fb")), ErrorClass::kNotFound);
}

TEST_F(CatalogTest, parts_that_several_files_have_are_reported) {
  TestStep given = test_step(10, 4, 3);
  const TestBlock velocity = given.blocks[5];  // of part 2, in file 2
  ASSERT_EQ(velocity.part, 2U);
  for (const std::uint32_t file : {0U, 1U}) {
    given.blocks.push_back(velocity);
    given.blocks.back().file = file;
  }
  TestWriter(path(), test_dataset_id()).write(given);
  const auto step = open()->step(10).value();
  EXPECT_TRUE(step->duplicate_blocks("pressure").empty());
  EXPECT_TRUE(step->duplicate_blocks("nothing").empty());
  const auto doubled = step->duplicate_blocks("velocity");
  ASSERT_EQ(doubled.size(), 2U);
  for (std::uint32_t i = 0; i < doubled.size(); ++i) {
    EXPECT_EQ(step->describe(doubled[i].first), "step 10, field velocity, part 2");
    EXPECT_EQ(doubled[i].first.file, 0U);
    EXPECT_EQ(doubled[i].second.file, i + 1);
  }
}

TestStep large_step(Codec codec) {
  TestBlock block = {.field = {.name = "bytes"}, .part = 5, .shape = {3 * kPieceBytes + 777}};
  block.raw = storage::pattern(block.shape[0]);
  TestStep step = {.step = 1, .codec = codec};
  step.blocks.push_back(block);
  block.part = 6;
  step.blocks.push_back(block);
  return step;
}

TEST_F(CatalogTest, ranges_of_a_block_are_read_with_and_without_checks) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const Codec codec : {Codec::kNone, Codec::kZstd}) {
    std::filesystem::remove_all(path());
    const TestStep given = large_step(codec);
    TestWriter(path(), test_dataset_id()).write(given);
    const auto catalog = open();
    const auto step = catalog->step(1).value();
    const auto place = step->find_part("bytes", 5).value();
    const std::vector<std::byte>& raw = given.blocks[0].raw;
    for (int i = 0; i < 100; ++i) {
      BlockReader reader(i % 2 == 0 ? VerifyMode::kPieces : VerifyMode::kNone);
      const std::uint64_t offset = random() % (raw.size() + 1);
      std::vector<std::byte> into(random() % (raw.size() - offset + 1));
      const Status read = reader.read(*step, place, {offset, into.size()}, into);
      ASSERT_TRUE(read) << read.error().message();
      EXPECT_TRUE(equal_bytes(into, std::span(raw).subspan(offset, into.size())));
    }
    std::vector<std::byte> into(10);
    EXPECT_EQ(error_class(BlockReader().read(*step, place, {raw.size() - 9, 10}, into)),
              ErrorClass::kOutOfRange);
  }
}

TEST_F(CatalogTest, flipped_bit_of_data_loses_one_piece_and_names_it) {
  TestWriter(path(), test_dataset_id()).write(large_step(Codec::kNone));
  const auto catalog = open();
  const auto step = catalog->step(1).value();
  const auto place = step->find_part("bytes", 5).value();
  const std::uint64_t offset = step->block(place).offset;
  flip_byte("data-000000.00000", offset + kPieceBytes + 100);
  std::vector<std::byte> piece(kPieceBytes);
  BlockReader reader;
  EXPECT_TRUE(reader.read_piece(*step, place, 0, piece));
  EXPECT_TRUE(reader.read_piece(*step, place, 2, piece));
  const Status read = reader.read(*step, place, {kPieceBytes + 7, 1}, std::span(piece).first(1));
  ASSERT_EQ(error_class(read), ErrorClass::kDamage);
  EXPECT_EQ(read.error().offset_bytes(), offset + kPieceBytes);
  EXPECT_TRUE(message_contains(read.error(), "step 1, field bytes, part 5"))
      << read.error().message();
  EXPECT_TRUE(message_contains(read.error(), "piece 1 (1048576 bytes)")) << read.error().message();
  EXPECT_TRUE(reader.read(*step, step->find_part("bytes", 6).value()));
}

TEST_F(CatalogTest, device_error_names_the_lost_part) {
  TestWriter(path(), test_dataset_id()).write(test_step(1, 4, 1));
  const auto whole = open()->step(1).value();
  const auto place = whole->find_part("velocity", 2).value();
  const std::uint64_t offset = whole->block(place).offset;
  std::vector<StepFile> files(whole->files().begin(), whole->files().end());
  files[0].file = std::make_shared<storage::FaultyFile>(storage::must_open(files[0].path),
                                                        storage::FileFaults{.bad_offset = offset});
  const StepCatalog step(whole->entry(), files);
  const auto read = BlockReader().read(step, place);
  ASSERT_EQ(error_class(read), ErrorClass::kIo);
  EXPECT_TRUE(message_contains(read.error(), "step 1, field velocity, part 2"))
      << read.error().message();
  EXPECT_EQ(read.error().offset_bytes(), offset);
  EXPECT_EQ(read.error().error_number(), EIO);
  EXPECT_TRUE(BlockReader().read(step, step.find_part("velocity", 3).value()));
}

TEST_F(CatalogTest, damaged_index_loses_only_its_file) {
  TestWriter writer(path(), test_dataset_id());
  writer.write(test_step(1, 4, 2));
  const Reference index = writer.state().table[0].files[1].index;
  flip_byte("data-000000.00001", index.offset + 200);
  const auto catalog = open();
  const auto step = catalog->step(1).value();
  ASSERT_EQ(step->errors().size(), 1U);
  EXPECT_TRUE(message_contains(step->errors()[0], "data-000000.00001"));
  EXPECT_TRUE(step->find_part("pressure", 2));
  const auto lost = step->find_part("pressure", 3);
  ASSERT_EQ(error_class(lost), ErrorClass::kDamage);
  EXPECT_TRUE(message_contains(lost.error(), "step 1, field pressure, part 3"))
      << lost.error().message();
}

TEST_F(CatalogTest, missing_file_loses_only_its_parts) {
  TestWriter(path(), test_dataset_id()).write(test_step(1, 4, 2));
  std::filesystem::remove(path() + "/data-000000.00000");
  const auto catalog = open();
  const auto step = catalog->step(1).value();
  const auto lost = step->find_part("pressure", 0);
  ASSERT_EQ(error_class(lost), ErrorClass::kNotFound);
  EXPECT_EQ(lost.error().message(),
            "find step 1, field pressure, part 0 in " + path() +
                "/data-000000.00000: No such file or directory (ENOENT): no other file has it, "
                "and the index of this file cannot be read");
  EXPECT_TRUE(BlockReader().read(*step, step->find_part("pressure", 3).value()));
}

TEST_F(CatalogTest, short_file_reports_the_missing_bytes) {
  TestWriter writer(path(), test_dataset_id());
  writer.write(test_step(1, 4, 1));
  const Reference index = writer.state().table[0].files[0].index;
  truncate("data-000000.00000", index.offset + 100);
  const auto step = open()->step(1).value();
  const auto lost = step->find_part("pressure", 0);
  ASSERT_EQ(error_class(lost), ErrorClass::kShortFile);
  EXPECT_TRUE(
      message_contains(lost.error(), std::to_string(index.bytes - 100) + " bytes are missing"))
      << lost.error().message();
}

// After a retried step, or in a recycled file: the old bytes are valid, but of another place.
TEST_F(CatalogTest, valid_bytes_of_another_step_do_not_validate) {
  TestWriter writer(path(), test_dataset_id());
  TestStep one = test_step(1, 3, 1);
  TestStep two = one;
  two.step = 2;
  writer.write(one);
  writer.write(two);
  const auto catalog = open();
  const auto place = catalog->step(2).value()->find_part("pressure", 0).value();
  const std::uint64_t offset = catalog->step(2).value()->block(place).offset;
  std::filesystem::copy_file(path() + "/data-000000.00000", directory_ / "old");
  const auto old = storage::must_open(directory_ / "old");
  const auto file =
      storage::must_open(path() + "/data-000001.00000", {.intent = storage::Intent::kWrite});
  std::vector<std::byte> bytes(800);
  ASSERT_TRUE(old->read_at(bytes, offset));
  EXPECT_EQ(bytes, one.blocks[0].raw);
  // The same values, but of step 2, are in place and validate; an index of step 1 does not.
  EXPECT_TRUE(BlockReader().read(*catalog->step(2).value(), place));
  const Reference index = catalog->find_step(1)->files[0].index;
  std::vector<std::byte> old_index(index.bytes);
  ASSERT_TRUE(old->read_at(old_index, index.offset));
  ASSERT_TRUE(file->write_at(old_index, catalog->find_step(2)->files[0].index.offset));
  const auto again = open()->step(2).value();
  ASSERT_EQ(again->errors().size(), 1U);
  EXPECT_EQ(again->errors()[0].kind(), ErrorClass::kDamage);
}

TEST_F(CatalogTest, global_array_is_found_by_boxes) {
  TestStep given = {.step = 1, .files = 2};
  for (std::uint64_t i = 0; i < 4; ++i) {
    TestBlock block = {.field = {.name = "grid",
                                 .type = ElementType::kUint16,
                                 .kind = FieldKind::kGlobal,
                                 .dimensions = 2,
                                 .shape = {8, 6}},
                       .start = {2 * i, 0},
                       .shape = {2, 6}};
    block.raw = storage::pattern(24);
    block.file = static_cast<std::uint32_t>(i % 2);
    given.blocks.push_back(std::move(block));
  }
  TestWriter(path(), test_dataset_id()).write(given);
  const auto step = open()->step(1).value();
  const auto found = step->find_blocks("grid", {{1, 5}, {3, 1}});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->size(), 2U);
  for (const BlockLocation& place : *found)
    EXPECT_EQ(BlockReader().read(*step, place).value(), storage::pattern(24));
  EXPECT_EQ(error_class(step->find_blocks("grid", {{1, 5}, {3, 2}})), ErrorClass::kInvalidArgument);
}

}  // namespace
}  // namespace forebay::format
