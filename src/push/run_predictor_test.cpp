// SPDX-License-Identifier: Apache-2.0
// Upper bounds of the accesses that RunPredictor misses, and look-ahead across repetitions.
#include "push/run_predictor.hpp"

#include <gtest/gtest.h>

#include "push/testing.hpp"

namespace forebay::push {
namespace {

/// Triples with a large jump after each third one.
Stream three_dimensional(std::uint64_t planes, std::uint64_t rows) {
  Stream stream;
  for (std::uint64_t plane = 0; plane < planes; ++plane) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::uint64_t i = 0; i < 4; ++i)
        stream.push_back({plane * 10'000'000 + row * 50'000 + i * 3000, 512});
    }
  }
  return stream;
}

TEST(RunPredictor, misses_of_strides_are_the_first_two_accesses) {
  EXPECT_EQ(misses_of<RunPredictor>(strided(200, 4096, 1024)), 2U);
  EXPECT_EQ(misses_of<RunPredictor>(strided(200, 4096, 4096)), 2U);
  EXPECT_EQ(misses_of<RunPredictor>(strided(40, 42450944, 5308416)), 2U);
}

TEST(RunPredictor, misses_of_backward_strides_are_the_first_two_accesses) {
  Stream stream = strided(200, 4096, 1024);
  std::ranges::reverse(stream);
  RunPredictor predictor;
  EXPECT_EQ(outcome_of(predictor, stream).misses, 2U);
  Prediction next;
  EXPECT_EQ(predictor.predict({&next, 1}), 0U);  // it would be before the start of the file
}

TEST(RunPredictor, misses_of_nested_pairs_are_the_first_two_pairs) {
  EXPECT_LE(misses_of<RunPredictor>(nested(100)), 4U);
}

TEST(RunPredictor, misses_of_lu_are_in_its_first_steps) {
  const Stream stream = lu(126);
  EXPECT_EQ(stream.size(), 8253U);
  EXPECT_LE(misses_of<RunPredictor>(stream), 12U);
}

TEST(RunPredictor, misses_of_three_dimensions_are_jumps_until_their_period_is_known) {
  EXPECT_LE(misses_of<RunPredictor>(three_dimensional(40, 5)), 8U);
  // Too many rows for a period: one miss for each plane.
  EXPECT_LE(misses_of<RunPredictor>(three_dimensional(10, 100)), 13U);
}

TEST(RunPredictor, misses_of_btio_rows_are_below_half_a_percent) {
  const Stream stream = btio_rows(3);
  EXPECT_EQ(stream.size(), 7803U);
  EXPECT_LE(misses_of<RunPredictor>(stream), stream.size() / 200);
}

TEST(RunPredictor, consecutive_accesses_of_varying_size_are_predicted_by_offset) {
  RunPredictor predictor;
  EXPECT_LE(outcome_of(predictor, consecutive(500)).offset_misses, 3U);
}

TEST(RunPredictor, consecutive_accesses_between_jumps_are_predicted_by_offset) {
  std::mt19937_64 random(9);
  Stream stream;
  std::uint64_t jumps = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const bool jumps_now = i == 0 || random() % 2 == 0;
    jumps += jumps_now ? 1 : 0;
    const std::uint64_t offset = jumps_now ? random() % (1U << 30U) : stream.back().end();
    stream.push_back({offset, 1 + random() % 5000});
  }
  RunPredictor predictor;
  EXPECT_LE(outcome_of(predictor, stream).offset_misses, jumps + 50);
}

TEST(RunPredictor, loop_counts_that_vary_at_random_cost_two_misses_each) {
  std::mt19937_64 random(5);
  Stream stream;
  for (std::uint64_t row = 0; row < 100; ++row) {
    const std::uint64_t count = 4 + random() % 8;
    for (std::uint64_t i = 0; i < count; ++i)
      stream.push_back({row * 1'000'000 + i * 4096, 4096});
  }
  EXPECT_LE(misses_of<RunPredictor>(stream), 200U);
}

TEST(RunPredictor, change_of_stride_costs_two_misses) {
  Stream stream = strided(100, 4096, 1024);
  for (trace::Access access : strided(100, 12288, 512)) {
    access.offset += 50'000'000;
    stream.push_back(access);
  }
  EXPECT_LE(misses_of<RunPredictor>(stream), 4U);
}

TEST(RunPredictor, look_ahead_of_64_crosses_outer_repetitions) {
  RunPredictor predictor;
  const Stream stream = lu(40);
  constexpr std::size_t kKnown = 200;
  for (std::size_t i = 0; i < kKnown; ++i)
    predictor.observe(stream[i]);
  std::array<Prediction, 64> ahead;
  ASSERT_EQ(predictor.predict(ahead), ahead.size());
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    EXPECT_EQ(ahead[i].offset, stream[kKnown + i].offset) << i;
    EXPECT_EQ(ahead[i].size, stream[kKnown + i].size) << i;
    EXPECT_GT(ahead[i].confidence, 0.9);
  }
}

TEST(RunPredictor, look_ahead_ends_where_sizes_become_0) {
  RunPredictor predictor;
  for (std::uint64_t i = 0; i < 5; ++i)
    predictor.observe({i * 4096, 4000 - i * 500});
  std::array<Prediction, 64> ahead;
  EXPECT_EQ(predictor.predict(ahead), 3U);
}

TEST(RunPredictor, random_stream_stops_predictions) {
  RunPredictor predictor;
  EXPECT_LE(outcome_of(predictor, scattered(20'000, 1U << 20U)).predicted, 10U);
}

TEST(RunPredictor, stride_after_random_stream_is_predicted) {
  RunPredictor predictor;
  outcome_of(predictor, scattered(1000, 1U << 20U));
  EXPECT_LE(outcome_of(predictor, strided(200, 4096, 1024)).misses, 8U);
}

TEST(RunPredictor, few_blocks_in_random_order_are_seldom_predicted) {
  RunPredictor predictor;
  EXPECT_LE(outcome_of(predictor, scattered(20'000, 16)).predicted, 1000U);
}

}  // namespace
}  // namespace forebay::push
