// SPDX-License-Identifier: Apache-2.0
// Accesses that the predictors by tables miss: MarkovPredictor, SuccessorTable and DifferenceTable.
#include "push/markov_predictor.hpp"

#include <gtest/gtest.h>

#include "push/difference_table.hpp"
#include "push/successor_table.hpp"
#include "push/testing.hpp"

namespace forebay::push {
namespace {

/// Steps that repeat, one of which follows two others.
Stream periodic(std::uint64_t count) {
  constexpr std::array<std::uint64_t, 5> kDistances = {100, 7000, 100, 40, 9};
  Stream stream;
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    stream.push_back({offset, 8 + i % 5});
    offset += kDistances[i % 5];
  }
  return stream;
}

TEST(MarkovPredictor, misses_of_loops_are_those_before_each_step_is_known) {
  EXPECT_EQ(misses_of<MarkovPredictor>(strided(200, 4096, 1024)), 3U);
  EXPECT_LE(misses_of<MarkovPredictor>(nested(100)), 5U);
  EXPECT_LE(misses_of<MarkovPredictor>(periodic(300)), 7U);
}

TEST(MarkovPredictor, look_ahead_follows_the_period) {
  MarkovPredictor predictor;
  const Stream stream = periodic(100);
  for (std::size_t i = 0; i < 30; ++i)
    predictor.observe(stream[i]);
  std::array<Prediction, 64> ahead;
  ASSERT_EQ(predictor.predict(ahead), ahead.size());
  for (std::size_t i = 0; i < ahead.size(); ++i)
    EXPECT_EQ(ahead[i].offset, stream[30 + i].offset) << i;
}

TEST(MarkovPredictor, second_epoch_of_a_permutation_is_mostly_known) {
  EXPECT_LE(misses_of<MarkovPredictor>(permuted(100, 2)), 110U);
}

TEST(MarkovPredictor, loop_after_random_stream_is_predicted) {
  MarkovPredictor predictor;
  outcome_of(predictor, scattered(20'000, 1U << 20U));
  EXPECT_LE(outcome_of(predictor, nested(100)).misses, 10U);
}

TEST(SuccessorTable, second_epoch_of_1024_blocks_is_known) {
  EXPECT_EQ(misses_of<SuccessorTable>(permuted(200, 2)), 201U);
  EXPECT_EQ(misses_of<SuccessorTable>(permuted(1024, 3)), 1025U);
}

TEST(SuccessorTable, oldest_accesses_are_evicted) {
  EXPECT_EQ(misses_of<SuccessorTable>(permuted(1025, 2)), 2050U);
}

TEST(SuccessorTable, newest_successor_of_an_offset_counts) {
  SuccessorTable predictor;
  for (const std::uint64_t offset : {1U, 2U, 3U, 1U, 4U, 5U, 1U})
    predictor.observe({offset, 1});
  std::array<Prediction, 8> ahead;
  ASSERT_EQ(predictor.predict(ahead), 3U);
  EXPECT_EQ(ahead[0].offset, 4U);
  EXPECT_EQ(ahead[1].offset, 5U);
  EXPECT_EQ(ahead[2].offset, 1U);
}

TEST(SuccessorTable, one_offset_many_times_is_its_own_successor) {
  EXPECT_EQ(misses_of<SuccessorTable>(strided(5000, 0, 1)), 2U);
}

TEST(SuccessorTable, too_large_accesses_are_ignored) {
  SuccessorTable predictor;
  EXPECT_EQ(outcome_of(predictor, strided(100, 0, std::uint64_t{1} << 32U)).predicted, 0U);
}

TEST(DifferenceTable, misses_of_polynomials_are_their_degree_plus_two) {
  EXPECT_EQ(misses_of<DifferenceTable>(strided(200, 4096, 1024)), 3U);
  EXPECT_EQ(misses_of<DifferenceTable>(triangular(200)), 4U);
  Stream cubes;
  for (std::uint64_t i = 0; i < 100; ++i)
    cubes.push_back({i * i * i * 512, 10 + i * i});
  EXPECT_EQ(misses_of<DifferenceTable>(cubes), 5U);
}

TEST(DifferenceTable, look_ahead_extrapolates_the_polynomial) {
  DifferenceTable predictor;
  const Stream stream = triangular(100);
  for (std::size_t i = 0; i < 10; ++i)
    predictor.observe(stream[i]);
  std::array<Prediction, 64> ahead;
  ASSERT_EQ(predictor.predict(ahead), ahead.size());
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    EXPECT_EQ(ahead[i].offset, stream[10 + i].offset) << i;
    EXPECT_EQ(ahead[i].size, stream[10 + i].size) << i;
  }
}

}  // namespace
}  // namespace forebay::push
