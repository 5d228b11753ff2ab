// SPDX-License-Identifier: Apache-2.0
#include "tools/study/size_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.hpp"

namespace forebay::study {

namespace {

constexpr std::uint64_t kSizeWordBytes = 8;

/// The quantile in the middle of share `index` of `count`.
double exponential_quantile(std::uint32_t index, std::uint32_t count) {
  const double share = (static_cast<double>(index) + 0.5) / static_cast<double>(count);
  return -std::log1p(-share);
}

/// The quantile of a rank: 0, last, 1, last but one, ... so that adjacent ranks differ.
std::uint32_t quantile_of(std::uint32_t rank, std::uint32_t ranks) {
  return rank % 2 == 0 ? rank / 2 : ranks - 1 - rank / 2;
}

std::vector<double> weights_of(SizeDistribution sizes, std::uint32_t ranks) {
  std::vector<double> weights(ranks, 1.0);
  if (sizes == SizeDistribution::kEqual) return weights;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    weights[rank] = exponential_quantile(quantile_of(rank, ranks), ranks);
  return weights;
}

}  // namespace

std::string_view name_of(SizeDistribution sizes) noexcept {
  return sizes == SizeDistribution::kEqual ? "equal" : "exponential";
}

std::vector<std::uint64_t> block_sizes(SizeDistribution sizes,
                                       std::uint32_t ranks,
                                       std::uint64_t step_bytes) {
  FOREBAY_ASSERT(ranks > 0);
  FOREBAY_ASSERT(step_bytes % kSizeWordBytes == 0);
  FOREBAY_ASSERT(step_bytes / kSizeWordBytes >= ranks);
  const std::vector<double> weights = weights_of(sizes, ranks);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  // Each block gets one word; the rest is distributed by weight.
  const std::uint64_t shared_words = step_bytes / kSizeWordBytes - ranks;
  std::vector<std::uint64_t> blocks;
  std::uint64_t given_words = 0;
  double weight_so_far = 0;
  for (const double weight : weights) {
    weight_so_far += weight;
    const double end = std::floor(static_cast<double>(shared_words) * (weight_so_far / sum) + 0.5);
    const std::uint64_t end_words = std::min(static_cast<std::uint64_t>(end), shared_words);
    blocks.push_back((end_words - given_words + 1) * kSizeWordBytes);
    given_words = end_words;
  }
  blocks.back() += (shared_words - given_words) * kSizeWordBytes;
  return blocks;
}

}  // namespace forebay::study
