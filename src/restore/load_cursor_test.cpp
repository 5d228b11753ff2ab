// SPDX-License-Identifier: Apache-2.0
#include "restore/load_cursor.hpp"

#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "format/index_builder.hpp"
#include "format/testing.hpp"
#include "read/testing.hpp"

namespace forebay::restore {
namespace {

constexpr std::uint64_t kIndexOffset = 1ULL << 40U;

/// A catalog with parts of one field of bytes, one after the other in one file. The file is never
/// read.
std::shared_ptr<const format::StepCatalog> make_catalog(const std::vector<std::uint64_t>& sizes) {
  format::IndexBuilder builder({.dataset = format::test_dataset_id(), .step = 1}, {});
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
  const auto bytes = builder.encode(kIndexOffset).value();
  format::StepFile file{.entry = {.file = 0, .index = builder.reference_of(bytes)}, .path = "f"};
  auto index = format::Index::decode(bytes, kIndexOffset, "f");
  file.index = std::make_shared<const format::Index>(std::move(index.value()));
  return std::make_shared<const format::StepCatalog>(format::StepEntry{.step = 1},
                                                     std::vector{file});
}

BlockRequestList requests_of(const std::vector<std::uint64_t>& sizes) {
  BlockRequestList list{.step = make_catalog(sizes)};
  for (const format::BlockLocation& location : list.step->blocks("x")) {
    const format::Block block = list.step->block(location);
    list.requests.push_back(
        {.location = location, .offset = block.offset, .raw = {0, block.raw_bytes}});
  }
  return list;
}

std::vector<PieceLoad> loads_of(const BlockRequestList& list, PieceReadMode read_mode) {
  std::vector<PieceLoad> loads;
  for (LoadCursor cursor(list, read_mode); !cursor.is_done();)
    loads.push_back(cursor.next());
  return loads;
}

/// Bytes of each block in all loads. Also checks that loads are as the header specifies.
std::map<std::uint64_t, std::uint64_t> bytes_by_block(const std::vector<PieceLoad>& loads) {
  std::map<std::uint64_t, std::uint64_t> bytes;
  std::uint64_t end = 0;
  for (const PieceLoad& load : loads) {
    EXPECT_GE(load.stored.offset, end);
    end = load.stored.end();
    EXPECT_LE(load.stored.size, kLoadBytesMax);
    EXPECT_EQ(load.stored.offset, load.pieces.front().stored.offset);
    for (const PieceRequest& piece : load.pieces) {
      EXPECT_TRUE(load.stored.contains(piece.stored));
      bytes[piece.block_request->location.number] += piece.raw.size;
    }
  }
  return bytes;
}

TEST(LoadCursor, hundred_thousand_small_parts_need_few_loads) {
  const std::vector<std::uint64_t> sizes(100'000, 1024);
  const BlockRequestList list = requests_of(sizes);  // loads refer to it
  const std::vector<PieceLoad> loads = loads_of(list, PieceReadMode::kWhole);
  EXPECT_LE(loads.size(), 100'000 * 1024 / kLoadBytesMax + 2);
  EXPECT_EQ(bytes_by_block(loads).size(), sizes.size());
}

TEST(LoadCursor, blocks_of_any_size_are_complete_and_loaded_once) {
  std::mt19937_64 random(read::Random().seed());
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint64_t> sizes(1 + random() % 40);
    for (std::uint64_t& size : sizes)
      size = random() % 3 == 0 ? random() % 3'000'000 : random() % 5000;
    const auto bytes = bytes_by_block(loads_of(requests_of(sizes), PieceReadMode::kWhole));
    for (std::size_t part = 0; part < sizes.size(); ++part)
      ASSERT_EQ(bytes.contains(part) ? bytes.at(part) : 0, sizes[part]);
  }
}

TEST(LoadCursor, range_loads_its_pieces_or_only_its_bytes) {
  BlockRequestList list = requests_of({5 * format::kPieceBytes});
  list.requests.front().raw = {format::kPieceBytes + 100, format::kPieceBytes};
  const auto verified = loads_of(list, PieceReadMode::kWhole);
  ASSERT_EQ(verified.size(), 2U);
  EXPECT_EQ(verified[0].pieces[0].piece, 1U);
  EXPECT_EQ(verified[1].pieces[0].piece, 2U);
  EXPECT_EQ(verified[1].stored.size, format::kPieceBytes);
  EXPECT_EQ(verified[1].pieces[0].raw, (ByteRange{2 * format::kPieceBytes, 100}));
  const auto taken = loads_of(list, PieceReadMode::kRequestedOnly);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].stored,
            (ByteRange{format::kPageBytes + format::kPieceBytes + 100, format::kPieceBytes}));
}

TEST(LoadCursor, distant_parts_are_separate_loads) {
  BlockRequestList list = requests_of(std::vector<std::uint64_t>(1000, 4096));
  EXPECT_TRUE(is_dense(list));
  list.requests = {list.requests[0], list.requests[500], list.requests[501]};
  EXPECT_FALSE(is_dense(list));
  const auto loads = loads_of(list, PieceReadMode::kWhole);
  ASSERT_EQ(loads.size(), 2U);
  EXPECT_EQ(loads[1].pieces.size(), 2U);
}

}  // namespace
}  // namespace forebay::restore
