// SPDX-License-Identifier: Apache-2.0
// What holds for each predictor: bounded memory, no predictions on random streams, and no harm from
// unusual accesses.
#include <gtest/gtest.h>

#include "push/difference_table.hpp"
#include "push/markov_predictor.hpp"
#include "push/neural_predictor.hpp"
#include "push/run_predictor.hpp"
#include "push/successor_table.hpp"
#include "push/testing.hpp"

namespace forebay::push {
namespace {

constexpr std::uint64_t kOffsetMax = std::numeric_limits<std::int64_t>::max();

template <typename AnyPredictor>
class PredictorSuite : public ::testing::Test {
 protected:
  std::size_t predicted() const { return predictor_.predict(ahead_); }
  void expect_predictable() {
    const std::size_t count = predicted();
    ASSERT_LE(count, ahead_.size());
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(is_predictable(ahead_[i].offset, ahead_[i].size)) << i;
      EXPECT_GE(ahead_[i].confidence, 0);
      EXPECT_LE(ahead_[i].confidence, 1);
    }
  }

  AnyPredictor predictor_;
  mutable std::array<Prediction, 64> ahead_;
};

using AllPredictors = ::testing::
    Types<DifferenceTable, MarkovPredictor, NeuralPredictor, RunPredictor, SuccessorTable>;
TYPED_TEST_SUITE(PredictorSuite, AllPredictors);

TYPED_TEST(PredictorSuite, state_is_bounded) {
  EXPECT_LE(this->predictor_.state_bytes(), kPredictorStateBytesMax);
  EXPECT_FALSE(this->predictor_.name().empty());
}

TYPED_TEST(PredictorSuite, nothing_is_predicted_without_accesses) {
  EXPECT_EQ(this->predicted(), 0U);
  EXPECT_EQ(this->predictor_.predict({}), 0U);
}

TYPED_TEST(PredictorSuite, random_stream_is_not_predicted) {
  EXPECT_LE(outcome_of(this->predictor_, scattered(20'000, 1U << 20U)).predicted, 40U);
}

TYPED_TEST(PredictorSuite, unpredictable_accesses_are_ignored) {
  for (const trace::Access& access : nested(20))
    this->predictor_.observe(access);
  const std::size_t before = this->predicted();
  const auto predictions = this->ahead_;
  this->predictor_.observe({.offset = 12345, .size = 0});
  this->predictor_.observe({.offset = kOffsetMax, .size = 1});
  this->predictor_.observe({.offset = std::uint64_t{1} << 63U, .size = 1});
  this->predictor_.observe({.offset = 1, .size = ~std::uint64_t{0}});
  EXPECT_EQ(this->predicted(), before);
  EXPECT_EQ(this->ahead_, predictions);
}

TYPED_TEST(PredictorSuite, predictions_end_at_the_largest_offset) {
  for (std::uint64_t i = 20; i > 0; --i) {
    this->predictor_.observe({kOffsetMax - i * 100, 100});
    this->expect_predictable();
  }
}

TYPED_TEST(PredictorSuite, predictions_end_at_offset_0) {
  for (std::uint64_t i = 20; i > 0; --i) {
    this->predictor_.observe({i * 100, 100});
    this->expect_predictable();
  }
}

TYPED_TEST(PredictorSuite, extreme_accesses_give_predictable_predictions) {
  std::mt19937_64 random(13);
  constexpr std::array<std::uint64_t, 6> kOffsets = {
      0, 1, kOffsetMax - 9, kOffsetMax / 2, kOffsetMax, 4096};
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t size = random() % 4 == 0 ? kOffsetMax / 3 : random() % 3;
    this->predictor_.observe({kOffsets[random() % kOffsets.size()] + random() % 2, size});
    if (i % 16 == 0) this->expect_predictable();
  }
}

}  // namespace
}  // namespace forebay::push
