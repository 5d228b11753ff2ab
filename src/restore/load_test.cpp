// SPDX-License-Identifier: Apache-2.0
#include "restore/load.hpp"

#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "format/index_builder.hpp"
#include "format/testing.hpp"
#include "read/testing.hpp"

namespace forebay::restore {
namespace {

constexpr std::uint64_t kIndexAt = 1ULL << 40U;

/// Parts of one field of bytes, one after the other in one file: nothing is read of it.
std::shared_ptr<const format::StepCatalog> catalog_of(const std::vector<std::uint64_t>& sizes) {
  format::IndexBuilder builder({.dataset = format::test_dataset(), .step = 1}, {});
  const auto field = builder.add_field({.name = "x"}).value();
  std::uint64_t offset = format::kPageBytes;
  for (std::size_t part = 0; part < sizes.size(); ++part) {
    const std::vector<std::uint64_t> pieces(format::piece_count(sizes[part]));
    EXPECT_TRUE(builder.add_block(field, {.part = part,
                                          .start = {},
                                          .shape = std::span(&sizes[part], 1),
                                          .offset = offset,
                                          .raw_bytes = sizes[part],
                                          .stored_bytes = sizes[part],
                                          .piece_checksums = pieces}));
    offset = format::round_up(offset + sizes[part], format::kBlockAlignmentBytes);
  }
  const auto bytes = builder.encode(kIndexAt).value();
  format::StepFile file{.entry = {.file = 0, .index = builder.reference_of(bytes)}, .path = "f"};
  auto index = format::Index::decode(bytes, kIndexAt, "f");
  file.index = std::make_shared<const format::Index>(std::move(index.value()));
  return std::make_shared<const format::StepCatalog>(format::StepEntry{.step = 1},
                                                     std::vector{file});
}

WantList wants_of(const std::vector<std::uint64_t>& sizes) {
  WantList list{.step = catalog_of(sizes)};
  for (const format::BlockPlace& place : list.step->blocks("x")) {
    const format::Block block = list.step->block(place);
    list.wants.push_back({.place = place, .offset = block.offset, .raw = {0, block.raw_bytes}});
  }
  return list;
}

std::vector<Load> loads_of(const WantList& list, Extents extents) {
  std::vector<Load> loads;
  for (LoadCursor cursor(list, extents); !cursor.done();)
    loads.push_back(cursor.next());
  return loads;
}

/// How often each byte of each block comes, piece by piece; and loads are as the header says.
std::map<std::uint64_t, std::uint64_t> bytes_by_block(const std::vector<Load>& loads) {
  std::map<std::uint64_t, std::uint64_t> bytes;
  std::uint64_t end = 0;
  for (const Load& load : loads) {
    EXPECT_GE(load.stored.offset, end);
    end = load.stored.end();
    EXPECT_LE(load.stored.size, kLoadBytesMax);
    EXPECT_EQ(load.stored.offset, load.pieces.front().stored.offset);
    for (const PieceWant& piece : load.pieces) {
      EXPECT_TRUE(load.stored.contains(piece.stored));
      bytes[piece.want->place.number] += piece.raw.size;
    }
  }
  return bytes;
}

TEST(LoadCursor, a_hundred_thousand_small_parts_take_as_many_loads_as_their_bytes_need) {
  const std::vector<std::uint64_t> sizes(100'000, 1024);
  const WantList list = wants_of(sizes);  // loads point into it
  const std::vector<Load> loads = loads_of(list, Extents::kPieces);
  EXPECT_LE(loads.size(), 100'000 * 1024 / kLoadBytesMax + 2);
  EXPECT_EQ(bytes_by_block(loads).size(), sizes.size());
}

TEST(LoadCursor, blocks_of_any_size_come_whole_and_once) {
  std::mt19937_64 random(read::Random().seed());
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint64_t> sizes(1 + random() % 40);
    for (std::uint64_t& size : sizes)
      size = random() % 3 == 0 ? random() % 3'000'000 : random() % 5000;
    const auto bytes = bytes_by_block(loads_of(wants_of(sizes), Extents::kPieces));
    for (std::size_t part = 0; part < sizes.size(); ++part)
      ASSERT_EQ(bytes.contains(part) ? bytes.at(part) : 0, sizes[part]);
  }
}

TEST(LoadCursor, a_range_touches_the_pieces_it_is_in_or_only_its_bytes) {
  WantList list = wants_of({5 * format::kPieceBytes});
  list.wants.front().raw = {format::kPieceBytes + 100, format::kPieceBytes};
  const auto verified = loads_of(list, Extents::kPieces);
  ASSERT_EQ(verified.size(), 2U);
  EXPECT_EQ(verified[0].pieces[0].piece, 1U);
  EXPECT_EQ(verified[1].pieces[0].piece, 2U);
  EXPECT_EQ(verified[1].stored.size, format::kPieceBytes);
  EXPECT_EQ(verified[1].pieces[0].raw, (ByteRange{2 * format::kPieceBytes, 100}));
  const auto taken = loads_of(list, Extents::kWantedOnly);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].stored,
            (ByteRange{format::kPageBytes + format::kPieceBytes + 100, format::kPieceBytes}));
}

TEST(LoadCursor, far_apart_parts_are_loads_of_their_own) {
  WantList list = wants_of(std::vector<std::uint64_t>(1000, 4096));
  EXPECT_TRUE(is_dense(list));
  list.wants = {list.wants[0], list.wants[500], list.wants[501]};
  EXPECT_FALSE(is_dense(list));
  const auto loads = loads_of(list, Extents::kPieces);
  ASSERT_EQ(loads.size(), 2U);
  EXPECT_EQ(loads[1].pieces.size(), 2U);
}

}  // namespace
}  // namespace forebay::restore
