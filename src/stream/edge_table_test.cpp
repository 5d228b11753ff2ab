// SPDX-License-Identifier: Apache-2.0
// Cutting at blocks, and the blocks that wait for their parts: every byte is in exactly one place,
// whatever the pieces and their order.
#include "stream/edge_table.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "stream/cut.hpp"

namespace forebay::stream {
namespace {

TEST(Cut, whole_blocks_have_no_edges) {
  const Cut cut = cut_at_blocks({8192, 4096});
  EXPECT_TRUE(cut.head.empty());
  EXPECT_EQ(cut.middle, (ByteRange{8192, 4096}));
  EXPECT_TRUE(cut.tail.empty());
}

TEST(Cut, a_piece_inside_one_block_is_all_edge) {
  const Cut cut = cut_at_blocks({4100, 50});
  EXPECT_EQ(cut.head, (ByteRange{4100, 50}));
  EXPECT_TRUE(cut.middle.empty());
  EXPECT_TRUE(cut.tail.empty());
}

TEST(Cut, a_piece_across_a_border_has_two_edges) {
  const Cut cut = cut_at_blocks({4090, 10});
  EXPECT_EQ(cut.head, (ByteRange{4090, 6}));
  EXPECT_TRUE(cut.middle.empty());
  EXPECT_EQ(cut.tail, (ByteRange{4096, 4}));
}

TEST(Cut, parts_cover_the_range_and_edges_stay_in_their_blocks) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100000; ++round) {
    const std::uint64_t base = random() % 2 == 0 ? 0 : (1ULL << 45U);
    const ByteRange range{base + random() % 20000, random() % 20000};
    const Cut cut = cut_at_blocks(range);
    ASSERT_EQ(cut.head.offset, range.offset);
    ASSERT_EQ(cut.head.end(), cut.middle.offset);
    ASSERT_EQ(cut.middle.end(), cut.tail.offset);
    ASSERT_EQ(cut.tail.end(), range.end());
    ASSERT_LT(cut.head.size, kBlockBytes);
    ASSERT_LT(cut.tail.size, kBlockBytes);
    ASSERT_EQ(cut.middle.size % kBlockBytes, 0U);
    ASSERT_TRUE(cut.middle.empty() || cut.middle.offset % kBlockBytes == 0);
    ASSERT_TRUE(cut.tail.empty() || cut.tail.offset % kBlockBytes == 0);
  }
}

TEST(Cut, after_the_shift_address_and_offset_agree) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 10000; ++round) {
    const std::uint64_t slot = (random() % 1000) * kBlockBytes;
    const std::uint64_t address = slot + random() % kBlockBytes;
    const std::uint64_t offset = random() % (1ULL << 40U);
    const auto moved = static_cast<std::uint64_t>(static_cast<std::int64_t>(address) +
                                                  shift_to_agree(address, offset));
    ASSERT_TRUE(agrees(moved, offset, kBlockBytes));
    ASSERT_GE(moved, slot);
    ASSERT_LT(moved, slot + kBlockBytes);
    ASSERT_EQ(agrees(address, offset, kBlockBytes), moved == address);
  }
}

/// A file in memory, and an edge table before it: as the queue uses it.
class EdgeFile {
 public:
  explicit EdgeFile(std::size_t size_bytes) : disk_(block_up(size_bytes), std::byte{0xEE}) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) {
    const Cut cut = cut_at_blocks({offset, bytes.size()});
    const auto part = [&](ByteRange range) {
      return bytes.subspan(range.offset - offset, range.size);
    };
    std::ranges::copy(part(cut.middle), at(cut.middle.offset));
    for (const ByteRange edge : {cut.head, cut.tail}) {
      if (edge.empty()) continue;
      EdgeBlock& block = table_.put(edge.offset, part(edge));
      if (block.is_full()) store(block);
    }
  }
  /// Returns how many blocks had to be written in part.
  std::size_t finish() {
    const auto waiting = table_.waiting();
    for (EdgeBlock* const block : waiting)
      store(*block);
    return waiting.size();
  }
  const std::vector<std::byte>& disk() const { return disk_; }
  const EdgeTable& table() const { return table_; }

 private:
  std::vector<std::byte>::iterator at(std::uint64_t offset) {
    return disk_.begin() + static_cast<std::ptrdiff_t>(offset);
  }
  void store(EdgeBlock& block) {
    for (const ByteRange part : block.parts())
      std::ranges::copy(block.part(part), at(part.offset));
    table_.erase(block);
  }

  std::vector<std::byte> disk_;
  EdgeTable table_;
};

TEST(EdgeTable, pieces_in_any_order_make_the_file) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const std::size_t size = 1 + random() % 60000;
    std::vector<std::byte> wanted(size);
    std::ranges::generate(wanted, [&] { return static_cast<std::byte>(random()); });
    std::vector<std::size_t> borders{0, size};
    for (int i = 0; i < 20; ++i)
      borders.push_back(random() % size);
    std::ranges::sort(borders);
    std::vector<std::size_t> order(borders.size() - 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    EdgeFile file(size);
    for (const std::size_t i : order) {
      const std::size_t first = borders[i];
      file.write(first, std::span(wanted).subspan(first, borders[i + 1] - first));
    }
    // All blocks but the last one met their neighbours.
    ASSERT_EQ(file.finish(), size % kBlockBytes == 0 ? 0U : 1U);
    ASSERT_TRUE(std::ranges::equal(wanted, std::span(file.disk()).first(size)));
    ASSERT_EQ(file.table().size(), 0U);
  }
}

TEST(EdgeTable, gaps_keep_what_the_file_has) {
  EdgeFile file(12288);
  const std::vector<std::byte> some(100, std::byte{1});
  file.write(50, some);
  file.write(5000, some);
  EXPECT_EQ(file.finish(), 2U);
  EXPECT_EQ(file.disk()[49], std::byte{0xEE});
  EXPECT_EQ(file.disk()[50], std::byte{1});
  EXPECT_EQ(file.disk()[149], std::byte{1});
  EXPECT_EQ(file.disk()[150], std::byte{0xEE});
  EXPECT_EQ(file.disk()[4999], std::byte{0xEE});
  EXPECT_EQ(file.disk()[5000], std::byte{1});
}

TEST(EdgeTable, parts_of_a_block_are_the_bytes_that_arrived) {
  EdgeBlock block(4096);
  const std::vector<std::byte> some(10, std::byte{1});
  block.put(4096 + 100, some);
  block.put(4096 + 110, some);
  block.put(8192 - 10, some);
  ASSERT_EQ(block.parts(), (std::vector<ByteRange>{{4196, 20}, {8182, 10}}));
  EXPECT_TRUE(std::ranges::equal(block.part({8182, 10}), some));
  block.begin_writing(2);
  EXPECT_FALSE(block.end_transfer());
  EXPECT_TRUE(block.is_under_way());
  EXPECT_TRUE(block.end_transfer());
}

TEST(EdgeTable, the_same_bytes_twice_do_not_fill_a_block) {
  EdgeTable table;
  const std::vector<std::byte> half(2048, std::byte{1});
  EXPECT_FALSE(table.put(0, half).is_full());
  EXPECT_FALSE(table.put(0, half).is_full());
  EXPECT_TRUE(table.put(2048, half).is_full());
}

TEST(EdgeTable, a_block_under_way_is_neither_waiting_nor_to_be_touched) {
  EdgeTable table;
  const std::vector<std::byte> some(10, std::byte{1});
  EdgeBlock& block = table.put(4096, some);
  EXPECT_EQ(table.waiting().size(), 1U);
  block.begin_writing(1);
  EXPECT_TRUE(table.waiting().empty());
  EXPECT_TRUE(table.is_under_way(5000));
  EXPECT_FALSE(table.is_under_way(0));
  table.erase(block);
  EXPECT_FALSE(table.is_under_way(5000));
}

}  // namespace
}  // namespace forebay::stream
