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

void expect_block(const Index& index, const GivenBlock& given) {
  const auto field = index.find_field(given.field.name);
  ASSERT_TRUE(field);
  EXPECT_EQ(index.fields()[*field].definition, given.field);
  std::optional<std::uint64_t> number;
  if (given.field.kind == FieldKind::kParts) {
    number = index.find_part(*field, given.part);
  } else {
    const auto found = index.intersecting(*field, {given.start, given.shape});
    ASSERT_EQ(found.size(), 1U);
    number = found[0];
    EXPECT_EQ(index.box(*field, *number), (Box{given.start, given.shape}));
  }
  ASSERT_TRUE(number);
  const Block block = index.block(*field, *number);
  EXPECT_EQ(block.offset, given.offset);
  EXPECT_EQ(block.raw_bytes, given.raw_bytes);
  EXPECT_EQ(block.stored_bytes, given.stored_bytes);
  EXPECT_EQ(block.checksum, given.checksum);
  EXPECT_EQ(block.codec, given.codec);
  EXPECT_EQ(index.shape(*field, *number), given.shape);
  if (block.pieces() < 2) return;
  EXPECT_TRUE(std::ranges::equal(block.piece_checksums, given.piece_checksums));
  if (given.codec == Codec::kNone) return;
  EXPECT_TRUE(std::ranges::equal(block.piece_ends, given.piece_ends));
}

TEST(Index, says_what_was_put_into_it) {
  const std::uint64_t seed = std::random_device()();
  for (std::uint64_t i = 0; i < 300; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + i));
    const RandomIndex given(seed + i);
    const auto bytes = given.encode();
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(bytes->size() % kPageBytes, 0U);
    const auto index = Index::decode(*bytes, given.index_offset(), kPath);
    ASSERT_TRUE(index) << index.error().message();
    EXPECT_EQ(index->head().place, given.place);
    EXPECT_EQ(index->head().facts, given.facts);
    EXPECT_EQ(index->blocks(), given.blocks.size());
    EXPECT_EQ(index->reference(), IndexBuilder::reference_of(*bytes));
    for (const GivenBlock& block : given.blocks)
      expect_block(*index, block);
  }
}

TEST(Index, is_the_same_in_whatever_order_blocks_came) {
  RandomIndex given(7);
  const auto one = given.encode();
  std::ranges::reverse(given.blocks);
  EXPECT_EQ(one.value(), given.encode().value());
}

/// A small index with all kinds of sections.
std::vector<std::byte> small_index(std::uint64_t& offset) {
  for (std::uint64_t seed = 1;; ++seed) {
    const RandomIndex given(seed);
    std::vector<std::byte> bytes = given.encode().value();
    const auto head = layout::load<layout::IndexHead>(bytes);
    if (head.bytes > 1500 || head.words == 0 || head.numbers == 0) continue;
    offset = given.index_offset();
    return bytes;
  }
}

TEST(Index, tells_every_flipped_bit_and_its_file) {
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

TEST(Index, that_is_cut_is_short) {
  std::uint64_t offset = 0;
  const std::vector<std::byte> bytes = small_index(offset);
  const std::uint64_t end = IndexBuilder::reference_of(bytes).bytes;
  for (std::uint64_t size = 0; size < end; ++size)
    EXPECT_EQ(error_class(Index::decode(std::span(bytes).first(size), offset, kPath)),
              ErrorClass::kShortFile);
  EXPECT_TRUE(Index::decode(std::span(bytes).first(end), offset, kPath));
}

/// Whoever can compute checksums can still not make a reader stumble.
TEST(Index, with_any_word_changed_and_a_right_checksum_never_breaks_a_reader) {
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

TEST(Index, at_another_offset_is_damage) {
  std::uint64_t offset = 0;
  const std::vector<std::byte> bytes = small_index(offset);
  const auto index = Index::decode(bytes, offset + kPageBytes, kPath);
  ASSERT_EQ(error_class(index), ErrorClass::kDamage);
  EXPECT_TRUE(mentions(index.error(), "belongs to offset")) << index.error().message();
}

TEST(Index, of_a_newer_version_is_told_from_damage) {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes = small_index(offset);
  const std::uint64_t end = IndexBuilder::reference_of(bytes).bytes - 8;
  bytes[8] = std::byte{2};
  layout::store(metadata_checksum(kIndexMagic, std::span(bytes).first(end)), bytes, end);
  EXPECT_EQ(error_class(Index::decode(bytes, offset, kPath)), ErrorClass::kUnsupported);
}

TEST(IndexBuilder, refuses_what_does_not_fit) {
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
  EXPECT_TRUE(mentions(outside.error(), "dimension 1")) << outside.error().message();
}

TEST(IndexBuilder, names_the_part_that_was_written_twice) {
  IndexBuilder builder({}, {});
  const auto field = builder.add_field({.name = "p"}).value();
  const std::uint64_t none[] = {0};
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(builder.add_block(field, {.part = 77, .shape = none, .offset = 4096}));
  const auto encoded = builder.encode(4096);
  ASSERT_FALSE(encoded);
  EXPECT_TRUE(mentions(encoded.error(), "part 77")) << encoded.error().message();
}

TEST(Index, finds_blocks_of_a_global_array_that_share_an_element_with_a_box) {
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
    Box wanted = {{random() % 6, random() % 9, random() % 10}, {}};
    for (std::size_t d = 0; d < 3; ++d)
      wanted.count.push_back(random() %
                             (index->fields()[0].definition.shape[d] - wanted.start[d] + 1));
    std::size_t expected = 0;
    for (const Box& box : boxes)
      expected += intersect(box, wanted) ? 1 : 0;
    EXPECT_EQ(index->intersecting(0, wanted).size(), expected);
  }
}

TEST(Index, of_a_million_parts_is_small_and_quick) {
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
