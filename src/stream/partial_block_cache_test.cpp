// SPDX-License-Identifier: Apache-2.0
// Splitting at blocks, and partial blocks: every byte is in exactly one place, for any pieces in
// any order.
#include "stream/partial_block_cache.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "stream/block_split.hpp"

namespace forebay::stream {
namespace {

TEST(BlockSplit, whole_blocks_have_no_edges) {
  const BlockSplit split = split_at_blocks({8192, 4096});
  EXPECT_TRUE(split.head.empty());
  EXPECT_EQ(split.middle, (ByteRange{8192, 4096}));
  EXPECT_TRUE(split.tail.empty());
}

TEST(BlockSplit, a_piece_inside_one_block_is_all_edge) {
  const BlockSplit split = split_at_blocks({4100, 50});
  EXPECT_EQ(split.head, (ByteRange{4100, 50}));
  EXPECT_TRUE(split.middle.empty());
  EXPECT_TRUE(split.tail.empty());
}

TEST(BlockSplit, a_piece_across_a_border_has_two_edges) {
  const BlockSplit split = split_at_blocks({4090, 10});
  EXPECT_EQ(split.head, (ByteRange{4090, 6}));
  EXPECT_TRUE(split.middle.empty());
  EXPECT_EQ(split.tail, (ByteRange{4096, 4}));
}

TEST(BlockSplit, parts_cover_the_range_and_edges_stay_in_their_blocks) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100000; ++round) {
    const std::uint64_t base = random() % 2 == 0 ? 0 : (1ULL << 45U);
    const ByteRange range{base + random() % 20000, random() % 20000};
    const BlockSplit split = split_at_blocks(range);
    ASSERT_EQ(split.head.offset, range.offset);
    ASSERT_EQ(split.head.end(), split.middle.offset);
    ASSERT_EQ(split.middle.end(), split.tail.offset);
    ASSERT_EQ(split.tail.end(), range.end());
    ASSERT_LT(split.head.size, kBlockBytes);
    ASSERT_LT(split.tail.size, kBlockBytes);
    ASSERT_EQ(split.middle.size % kBlockBytes, 0U);
    ASSERT_TRUE(split.middle.empty() || split.middle.offset % kBlockBytes == 0);
    ASSERT_TRUE(split.tail.empty() || split.tail.offset % kBlockBytes == 0);
  }
}

TEST(BlockSplit, after_the_shift_address_and_offset_agree) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 10000; ++round) {
    const std::uint64_t slot = (random() % 1000) * kBlockBytes;
    const std::uint64_t address = slot + random() % kBlockBytes;
    const std::uint64_t offset = random() % (1ULL << 40U);
    const auto moved = static_cast<std::uint64_t>(static_cast<std::int64_t>(address) +
                                                  alignment_shift(address, offset));
    ASSERT_TRUE(is_congruent(moved, offset, kBlockBytes));
    ASSERT_GE(moved, slot);
    ASSERT_LT(moved, slot + kBlockBytes);
    ASSERT_EQ(is_congruent(address, offset, kBlockBytes), moved == address);
  }
}

/// A file in memory behind a PartialBlockCache, as the queue uses it.
class PartialBlockFile {
 public:
  explicit PartialBlockFile(std::size_t size_bytes)
      : disk_(align_up_to_block(size_bytes), std::byte{0xEE}) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) {
    const BlockSplit split = split_at_blocks({offset, bytes.size()});
    const auto range_bytes = [&](ByteRange range) {
      return bytes.subspan(range.offset - offset, range.size);
    };
    std::ranges::copy(range_bytes(split.middle), at(split.middle.offset));
    for (const ByteRange partial : {split.head, split.tail}) {
      if (partial.empty()) continue;
      PartialBlock& block = table_.put(partial.offset, range_bytes(partial));
      if (block.is_full()) store(block);
    }
  }
  /// Returns how many blocks had to be written in part.
  std::size_t finish() {
    const auto waiting = table_.waiting_blocks();
    for (PartialBlock* const block : waiting)
      store(*block);
    return waiting.size();
  }
  const std::vector<std::byte>& disk() const { return disk_; }
  const PartialBlockCache& table() const { return table_; }

 private:
  std::vector<std::byte>::iterator at(std::uint64_t offset) {
    return disk_.begin() + static_cast<std::ptrdiff_t>(offset);
  }
  void store(PartialBlock& block) {
    for (const ByteRange part : block.valid_ranges())
      std::ranges::copy(block.range_bytes(part), at(part.offset));
    table_.erase(block);
  }

  std::vector<std::byte> disk_;
  PartialBlockCache table_;
};

TEST(PartialBlockCache, pieces_in_any_order_make_the_file) {
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
    PartialBlockFile file(size);
    for (const std::size_t i : order) {
      const std::size_t first = borders[i];
      file.write(first, std::span(wanted).subspan(first, borders[i + 1] - first));
    }
    // All blocks but the last one were completed by their neighbors.
    ASSERT_EQ(file.finish(), size % kBlockBytes == 0 ? 0U : 1U);
    ASSERT_TRUE(std::ranges::equal(wanted, std::span(file.disk()).first(size)));
    ASSERT_EQ(file.table().size(), 0U);
  }
}

TEST(PartialBlockCache, gaps_keep_the_content_of_the_file) {
  PartialBlockFile file(12288);
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

TEST(PartialBlockCache, parts_of_a_block_are_the_bytes_that_arrived) {
  PartialBlock block(4096);
  const std::vector<std::byte> some(10, std::byte{1});
  block.put(4096 + 100, some);
  block.put(4096 + 110, some);
  block.put(8192 - 10, some);
  ASSERT_EQ(block.valid_ranges(), (std::vector<ByteRange>{{4196, 20}, {8182, 10}}));
  EXPECT_TRUE(std::ranges::equal(block.range_bytes({8182, 10}), some));
  block.start_write(2);
  EXPECT_FALSE(block.finish_transfer());
  EXPECT_TRUE(block.is_in_flight());
  EXPECT_TRUE(block.finish_transfer());
}

TEST(PartialBlockCache, the_same_bytes_twice_do_not_fill_a_block) {
  PartialBlockCache table;
  const std::vector<std::byte> half(2048, std::byte{1});
  EXPECT_FALSE(table.put(0, half).is_full());
  EXPECT_FALSE(table.put(0, half).is_full());
  EXPECT_TRUE(table.put(2048, half).is_full());
}

TEST(PartialBlockCache, block_in_flight_is_not_waiting) {
  PartialBlockCache table;
  const std::vector<std::byte> some(10, std::byte{1});
  PartialBlock& block = table.put(4096, some);
  EXPECT_EQ(table.waiting_blocks().size(), 1U);
  block.start_write(1);
  EXPECT_TRUE(table.waiting_blocks().empty());
  EXPECT_TRUE(table.is_in_flight(5000));
  EXPECT_FALSE(table.is_in_flight(0));
  table.erase(block);
  EXPECT_FALSE(table.is_in_flight(5000));
}

}  // namespace
}  // namespace forebay::stream
