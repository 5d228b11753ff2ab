// SPDX-License-Identifier: Apache-2.0
// Block sizes of all candidates: sums, alignment and shape.
#include "tools/study/size_distribution.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::study {
namespace {

double largest_over_mean(const std::vector<std::uint64_t>& blocks) {
  const double sum =
      static_cast<double>(std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0}));
  const double largest = static_cast<double>(*std::max_element(blocks.begin(), blocks.end()));
  return largest * static_cast<double>(blocks.size()) / sum;
}

TEST(BlockSizes, blocks_have_the_requested_sum_and_are_whole_words) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const auto ranks = static_cast<std::uint32_t>(1 + random() % 70);
    const std::uint64_t step_bytes = 8 * (ranks + random() % (1U << 22U));
    for (const SizeDistribution sizes :
         {SizeDistribution::kEqual, SizeDistribution::kExponential}) {
      const auto blocks = block_sizes(sizes, ranks, step_bytes);
      ASSERT_EQ(blocks.size(), ranks);
      ASSERT_EQ(std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0}), step_bytes);
      for (const std::uint64_t bytes : blocks) {
        ASSERT_GE(bytes, 8U);
        ASSERT_EQ(bytes % 8, 0U);
      }
    }
  }
}

TEST(BlockSizes, equal_blocks_differ_by_a_word_at_most) {
  const auto blocks = block_sizes(SizeDistribution::kEqual, 7, 8 * 1000);
  const auto [least, most] = std::minmax_element(blocks.begin(), blocks.end());
  EXPECT_LE(*most - *least, 8U);
}

TEST(BlockSizes, exponential_blocks_have_their_quantiles) {
  constexpr std::uint64_t kQuarterGigabyte = 1ULL << 28U;
  EXPECT_NEAR(largest_over_mean(block_sizes(SizeDistribution::kExponential, 4, kQuarterGigabyte)),
              2.27, 0.01);
  EXPECT_NEAR(largest_over_mean(block_sizes(SizeDistribution::kExponential, 8, kQuarterGigabyte)),
              2.90, 0.01);
}

TEST(BlockSizes, deterministic) {
  EXPECT_EQ(block_sizes(SizeDistribution::kExponential, 8, 1 << 20),
            block_sizes(SizeDistribution::kExponential, 8, 1 << 20));
}

}  // namespace
}  // namespace forebay::study
