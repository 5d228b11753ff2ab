// SPDX-License-Identifier: Apache-2.0
#include "format/checksum.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "storage/testing.hpp"

namespace forebay::format {
namespace {

constexpr DatasetId kDataset = {std::byte{1}, std::byte{2}};

BlockSeed test_seed() { return part_seed(field_seed(step_seed(kDataset, 1), "p"), 0); }

TEST(Checksums, differ_for_the_same_bytes_at_another_place) {
  const std::vector<std::byte> bytes(100);
  const std::uint64_t start[] = {0};
  const std::uint64_t count[] = {100};
  DatasetId other = kDataset;
  other[15] = std::byte{1};
  const StepSeed step = step_seed(kDataset, 1);
  const FieldSeed field = field_seed(step, "p");
  const std::set<std::uint64_t> sums = {
      piece_checksum(part_seed(field, 0), 0, bytes),
      piece_checksum(part_seed(field, 0), 1, bytes),
      piece_checksum(part_seed(field, 1), 0, bytes),
      piece_checksum(array_seed(field, start, count), 0, bytes),
      piece_checksum(array_seed(field, count, start), 0, bytes),
      piece_checksum(part_seed(field_seed(step, "q"), 0), 0, bytes),
      piece_checksum(part_seed(field_seed(step_seed(kDataset, 2), "p"), 0), 0, bytes),
      piece_checksum(part_seed(field_seed(step_seed(other, 1), "p"), 0), 0, bytes)};
  EXPECT_EQ(sums.size(), 8U);
}

TEST(Checksums, of_empty_blocks_depend_on_the_part) {
  const FieldSeed field = field_seed(step_seed(kDataset, 1), "p");
  const BlockChecksums sums = compute_block_checksums(part_seed(field, 3), {});
  EXPECT_TRUE(sums.pieces.empty());
  EXPECT_NE(sums.checksum, compute_block_checksums(part_seed(field, 4), {}).checksum);
}

TEST(BlockHasher, result_does_not_depend_on_portions) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, kPieceBytes - 1, kPieceBytes,
                                   kPieceBytes + 1, 3 * kPieceBytes + 17}) {
    const std::vector<std::byte> bytes = storage::pattern(size);
    BlockHasher hasher(test_seed());
    for (std::uint64_t at = 0; at < size;) {
      const std::uint64_t cut = std::min(size - at, random() % 700'000);
      hasher.update(std::span(bytes).subspan(at, cut));
      at += cut;
    }
    EXPECT_EQ(hasher.bytes(), size);
    const BlockChecksums sums = hasher.finish();
    EXPECT_EQ(sums, compute_block_checksums(test_seed(), bytes));
    EXPECT_EQ(sums.pieces.size(), piece_count(size));
  }
}

TEST(Checksums, detect_every_flipped_bit_of_a_piece) {
  std::vector<std::byte> bytes = storage::pattern(300);
  const std::uint64_t whole = piece_checksum(test_seed(), 0, bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(piece_checksum(test_seed(), 0, bytes), whole) << "bit " << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

}  // namespace
}  // namespace forebay::format
