// SPDX-License-Identifier: Apache-2.0
#include "format/index.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "format/index_testing.hpp"
#include "format/layout.hpp"

namespace forebay::format {
namespace {

const std::string kPath = "run.fb/data-000003.00005";

void expect_block(const Index& index, const BlockInput& input) {
  const auto field = index.find_field(input.field.name);
  ASSERT_TRUE(field);
  EXPECT_EQ(index.fields()[*field].definition, input.field);
  std::optional<std::uint64_t> number;
  if (input.field.kind == FieldKind::kParts) {
    number = index.find_part(*field, input.part);
  } else {
    const auto found = index.find_blocks(*field, {input.start, input.shape});
    ASSERT_EQ(found.size(), 1U);
    number = found[0];
    EXPECT_EQ(index.box(*field, *number), (Box{input.start, input.shape}));
  }
  ASSERT_TRUE(number);
  const Block block = index.block(*field, *number);
  EXPECT_EQ(block.offset, input.offset);
  EXPECT_EQ(block.raw_bytes, input.raw_bytes);
  EXPECT_EQ(block.stored_bytes, input.stored_bytes);
  EXPECT_EQ(block.checksum, input.checksum);
  EXPECT_EQ(block.codec, input.codec);
  EXPECT_EQ(index.shape(*field, *number), input.shape);
  if (block.pieces() < 2) return;
  EXPECT_TRUE(std::ranges::equal(block.piece_checksums, input.piece_checksums));
  if (input.codec == Codec::kNone) return;
  EXPECT_TRUE(std::ranges::equal(block.piece_ends, input.piece_ends));
}

TEST(Index, decodes_what_was_encoded) {
  const std::uint64_t seed = std::random_device()();
  for (std::uint64_t i = 0; i < 300; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    const RandomIndex input(seed + i);
    const auto bytes = input.encode();
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(bytes->size() % kPageBytes, 0U);
    const auto index = Index::decode(*bytes, input.index_offset(), kPath);
    ASSERT_TRUE(index) << index.error().message();
    EXPECT_EQ(index->header().id, input.id);
    EXPECT_EQ(index->header().metadata, input.metadata);
    EXPECT_EQ(index->blocks(), input.blocks.size());
    EXPECT_EQ(index->reference(), IndexBuilder::reference_of(*bytes));
    for (const BlockInput& block : input.blocks)
      expect_block(*index, block);
  }
}

TEST(Index, does_not_depend_on_the_order_of_blocks) {
  RandomIndex input(7);
  const auto one = input.encode();
  std::ranges::reverse(input.blocks);
  EXPECT_EQ(one.value(), input.encode().value());
}

/// A small index with all kinds of sections.
std::vector<std::byte> small_index(std::uint64_t& offset) {
  for (std::uint64_t seed = 1;; ++seed) {
    const RandomIndex input(seed);
    std::vector<std::byte> bytes = input.encode().value();
    const auto head = layout::load<layout::IndexHeader>(bytes);
    if (head.bytes > 1500 || head.words == 0 || head.dims == 0) continue;
    offset = input.index_offset();
    return bytes;
  }
}

TEST(Index, every_flipped_bit_is_damage_and_names_the_file) {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes = small_index(offset);
  const std::uint64_t end = IndexBuilder::reference_of(bytes).bytes;
  for (std::uint64_t bit = 0; bit < end * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto index = Index::decode(bytes, offset, kPath);
    ASSERT_FALSE(index) << "bit " << bit;
    EXPECT_EQ(index.error().path(), kPath);
    EXPECT_TRUE(index.error().offset_bytes().has_value());
    EXPECT_NE(index.error().kind(), ErrorClass::kUnsupported) << "bit " << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(Index, truncated_index_is_short) {
  std::uint64_t offset = 0;
  const std::vector<std::byte> bytes = small_index(offset);
  const std::uint64_t end = IndexBuilder::reference_of(bytes).bytes;
  for (std::uint64_t size = 0; size < end; ++size)
    EXPECT_EQ(error_class(Index::decode(std::span(bytes).first(size), offset, kPath)),
              ErrorClass::kShortFile);
  EXPECT_TRUE(Index::decode(std::span(bytes).first(end), offset, kPath));
}

/// A file with right checksums must not crash a reader either.
TEST(Index, changed_words_with_right_checksum_never_crash_a_reader) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::uint64_t offset = 0;
  const std::vector<std::byte> whole = small_index(offset);
  const std::uint64_t end = IndexBuilder::reference_of(whole).bytes - 8;
  const std::uint64_t values[] = {0, 1, 7, UINT64_MAX, 1ULL << 63U, random(), random() % 5000};
  int refused = 0;
  for (std::uint64_t at = 0; at < end; at += 8) {
    for (const std::uint64_t value : values) {
      std::vector<std::byte> bytes = whole;
      layout::store(value, bytes, at);
      layout::store(metadata_checksum(kIndexMagic, std::span(bytes).first(end)), bytes, end);
      const auto index = Index::decode(bytes, offset, kPath);
      if (!index) ++refused;
      for (std::uint32_t field = 0; index && field < index->fields().size(); ++field)
        for (std::uint64_t i = 0; i < index->fields()[field].blocks; ++i)
          (void)index->seed(field, i);
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(Index, index_at_another_offset_is_damage) {
  std::uint64_t offset = 0;
  const std::vector<std::byte> bytes = small_index(offset);
  const auto index = Index::decode(bytes, offset + kPageBytes, kPath);
  ASSERT_EQ(error_class(index), ErrorClass::kDamage);
  EXPECT_TRUE(message_contains(index.error(), "belongs to offset")) << index.error().message();
}

TEST(Index, newer_major_version_is_unsupported_not_damage) {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes = small_index(offset);
  const std::uint64_t end = IndexBuilder::reference_of(bytes).bytes - 8;
  bytes[8] = std::byte{2};
  layout::store(metadata_checksum(kIndexMagic, std::span(bytes).first(end)), bytes, end);
  EXPECT_EQ(error_class(Index::decode(bytes, offset, kPath)), ErrorClass::kUnsupported);
}

TEST(IndexBuilder, refuses_invalid_fields_and_blocks) {
  IndexBuilder builder({}, {});
  const auto parts = builder.add_field({.name = "p", .type = ElementType::kInt32}).value();
  const auto array = builder
                         .add_field({.name = "g",
                                     .type = ElementType::kInt8,
                                     .kind = FieldKind::kGlobal,
                                     .dimensions = 2,
                                     .shape = {4, 5}})
                         .value();
  EXPECT_FALSE(builder.add_field({.name = "p", .type = ElementType::kInt64}));
  EXPECT_EQ(builder.add_field({.name = "p", .type = ElementType::kInt32}).value(), parts);
  const std::uint64_t three[] = {3};
  const NewBlock good = {.shape = three, .offset = 4096, .raw_bytes = 12, .stored_bytes = 12};
  EXPECT_TRUE(builder.add_block(parts, good));
  NewBlock bad = good;
  bad.offset = 4100;
  EXPECT_FALSE(builder.add_block(parts, bad));
  bad = good;
  bad.raw_bytes = bad.stored_bytes = 13;
  EXPECT_FALSE(builder.add_block(parts, bad));
  bad = good;
  bad.stored_bytes = 11;
  EXPECT_FALSE(builder.add_block(parts, bad));
  const std::uint64_t start[] = {3, 3};
  const std::uint64_t count[] = {1, 3};
  bad = {.start = start, .shape = count, .offset = 4096, .raw_bytes = 3, .stored_bytes = 3};
  const Status outside = builder.add_block(array, bad);
  ASSERT_FALSE(outside);
  EXPECT_TRUE(message_contains(outside.error(), "dimension 1")) << outside.error().message();
}

TEST(IndexBuilder, error_names_the_part_that_was_written_twice) {
  IndexBuilder builder({}, {});
  const auto field = builder.add_field({.name = "p"}).value();
  const std::uint64_t none[] = {0};
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(builder.add_block(field, {.part = 77, .shape = none, .offset = 4096}));
  const auto encoded = builder.encode(4096);
  ASSERT_FALSE(encoded);
  EXPECT_TRUE(message_contains(encoded.error(), "part 77")) << encoded.error().message();
}

TEST(Index, finds_blocks_of_a_global_array_by_box) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  IndexBuilder builder({}, {});
  const auto field = builder
                         .add_field({.name = "g",
                                     .type = ElementType::kUint8,
                                     .kind = FieldKind::kGlobal,
                                     .dimensions = 3,
                                     .shape = {6, 9, 10}})
                         .value();
  std::vector<Box> boxes;
  for (std::uint64_t i = 0; i < 27; ++i)
    boxes.push_back({{i / 9 * 2, i / 3 % 3 * 3, i % 3 * 4}, {2, 3, i % 3 == 2 ? 2U : 4U}});
  for (const Box& box : boxes) {
    const std::uint64_t bytes = box.count[0] * box.count[1] * box.count[2];
    ASSERT_TRUE(builder.add_block(field, {.start = box.start,
                                          .shape = box.count,
                                          .offset = 4096,
                                          .raw_bytes = bytes,
                                          .stored_bytes = bytes}));
  }
  const auto index = Index::decode(builder.encode(8192).value(), 8192, kPath);
  ASSERT_TRUE(index) << index.error().message();
  for (int i = 0; i < 500; ++i) {
    Box requested = {{random() % 6, random() % 9, random() % 10}, {}};
    for (std::size_t d = 0; d < 3; ++d)
      requested.count.push_back(random() %
                                (index->fields()[0].definition.shape[d] - requested.start[d] + 1));
    std::size_t expected = 0;
    for (const Box& box : boxes)
      expected += has_overlap(box, requested) ? 1 : 0;
    EXPECT_EQ(index->find_blocks(0, requested).size(), expected);
  }
}

TEST(Index, million_parts_are_small_and_fast) {
  constexpr std::uint64_t kParts = 1'000'000;
  IndexBuilder builder({}, {});
  const auto field = builder.add_field({.name = "p", .type = ElementType::kUint8}).value();
  const std::uint64_t shape[] = {8};
  for (std::uint64_t part = kParts; part-- > 0;)
    ASSERT_TRUE(builder.add_block(field, {.part = part,
                                          .shape = shape,
                                          .offset = 4096 + part * 8,
                                          .raw_bytes = 8,
                                          .stored_bytes = 8,
                                          .checksum = part}));
  const std::uint64_t offset = round_up(4096 + kParts * 8, kPageBytes);
  const auto bytes = builder.encode(offset);
  ASSERT_TRUE(bytes);
  EXPECT_LE(bytes->size(), kParts * 48 + kPageBytes);
  const auto index = Index::decode(*bytes, offset, kPath);
  ASSERT_TRUE(index);
  for (const std::uint64_t part : {std::uint64_t{0}, kParts / 3, kParts - 1}) {
    const auto number = index->find_part(0, part);
    ASSERT_TRUE(number);
    EXPECT_EQ(index->block(0, *number).offset, 4096 + part * 8);
  }
  EXPECT_EQ(index->find_part(0, kParts), std::nullopt);
}

}  // namespace
}  // namespace forebay::format
