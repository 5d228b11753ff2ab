// SPDX-License-Identifier: Apache-2.0
// Arithmetic of transfers that take several attempts.
#include "storage/transfer_progress.hpp"

#include <random>

#include <gtest/gtest.h>

namespace forebay::storage {
namespace {

TEST(TransferProgress, one_attempt_may_be_enough) {
  TransferProgress progress(1000, 1);
  EXPECT_EQ(progress.resume_offset(), 0U);
  EXPECT_EQ(progress.attempt_bytes(), 1000U);
  EXPECT_TRUE(progress.advance(1000));
  EXPECT_TRUE(progress.is_complete());
}

TEST(TransferProgress, empty_transfer_is_complete_at_once) {
  EXPECT_TRUE(TransferProgress(0, 1).is_complete());
  EXPECT_TRUE(TransferProgress(0, 4096).is_complete());
}

TEST(TransferProgress, short_attempt_is_resumed) {
  TransferProgress progress(1000, 1);
  EXPECT_TRUE(progress.advance(300));
  EXPECT_FALSE(progress.is_complete());
  EXPECT_EQ(progress.resume_offset(), 300U);
  EXPECT_EQ(progress.attempt_bytes(), 700U);
}

TEST(TransferProgress, zero_bytes_are_no_progress) {
  TransferProgress progress(1000, 1);
  EXPECT_TRUE(progress.advance(300));
  EXPECT_FALSE(progress.advance(0));
  EXPECT_EQ(progress.transferred_bytes(), 300U);
}

TEST(TransferProgress, long_transfer_is_split_at_the_limit) {
  constexpr std::uint64_t kTotal = std::uint64_t{5} << 30U;
  TransferProgress progress(kTotal, 1);
  EXPECT_EQ(progress.attempt_bytes(), 0x7ffff000U);
  int attempts = 0;
  while (!progress.is_complete()) {
    ASSERT_TRUE(progress.advance(progress.attempt_bytes()));
    ++attempts;
  }
  EXPECT_EQ(attempts, 3);
}

TEST(TransferProgress, split_respects_alignments_beyond_the_page) {
  constexpr std::uint64_t kAlignment = 65536;
  const TransferProgress progress(std::uint64_t{4} << 30U, kAlignment);
  EXPECT_EQ(progress.attempt_bytes() % kAlignment, 0U);
  EXPECT_GT(progress.attempt_bytes(), 0x7ff00000U);
}

TEST(TransferProgress, aligned_transfer_repeats_the_block_it_stopped_in) {
  TransferProgress progress(12288, 4096);
  EXPECT_TRUE(progress.advance(5000));
  EXPECT_EQ(progress.resume_offset(), 4096U);
  EXPECT_EQ(progress.attempt_bytes(), 2U * 4096);
  EXPECT_FALSE(progress.advance(904)) << "no progress: the end of the file";
  EXPECT_EQ(progress.transferred_bytes(), 5000U);
}

TEST(TransferProgress, shrunk_file_is_no_progress) {
  TransferProgress progress(12288, 4096);
  EXPECT_TRUE(progress.advance(5000));
  EXPECT_FALSE(progress.advance(100));
  EXPECT_EQ(progress.transferred_bytes(), 5000U);
}

TEST(TransferProgress, random_attempts_cover_every_byte_once_the_end_is_met) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t alignment = std::uint64_t{1} << (random() % 13);
    const std::uint64_t total = (random() % 40) * alignment;
    const std::uint64_t file_end = random() % (total + 1);
    TransferProgress progress(total, alignment);
    bool at_end = false;
    while (!progress.is_complete() && !at_end) {
      const std::uint64_t first = progress.resume_offset();
      ASSERT_EQ(first % alignment, 0U);
      ASSERT_LE(first + progress.attempt_bytes(), total);
      const std::uint64_t there =
          std::min(progress.attempt_bytes(), file_end > first ? file_end - first : 0);
      const std::uint64_t units = there / alignment;
      const std::uint64_t moved = units > 1 ? (1 + random() % units) * alignment : there;
      at_end = !progress.advance(moved);
    }
    ASSERT_EQ(progress.transferred_bytes(), file_end) << "round " << round;
  }
}

}  // namespace
}  // namespace forebay::storage
