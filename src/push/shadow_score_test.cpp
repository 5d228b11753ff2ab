// SPDX-License-Identifier: Apache-2.0
// ShadowScore: shares of a predictor on streams with known misses.
#include "push/shadow_score.hpp"

#include <gtest/gtest.h>

#include "push/run_predictor.hpp"
#include "push/testing.hpp"

namespace forebay::push {
namespace {

/// Predicts that block n is followed by the blocks `lag`, `lag` + 1, ... after it.
class LaggedPredictor final : public Predictor {
 public:
  explicit LaggedPredictor(std::uint64_t lag) : lag_(lag) {}
  std::string_view name() const noexcept override { return "lagged"; }
  void observe(const trace::Access& access) override { offset_ = access.offset; }
  std::size_t predict(std::span<Prediction> into) const override {
    for (std::size_t i = 0; i < into.size(); ++i)
      into[i] = {.offset = offset_ + (lag_ + i) * 4096, .size = 4096};
    return into.size();
  }
  std::size_t state_bytes() const noexcept override { return sizeof(*this); }

 private:
  std::uint64_t lag_;
  std::uint64_t offset_ = 0;
};

void observe_all(ShadowScore& score, const Stream& stream) {
  for (const trace::Access& access : stream)
    score.observe(access);
}

TEST(ShadowScore, total_is_the_share_of_exact_predictions) {
  RunPredictor predictor;
  ShadowScore score(predictor, 8);
  observe_all(score, strided(200, 4096, 1024));
  EXPECT_EQ(score.accesses(), 200U);
  EXPECT_DOUBLE_EQ(score.total().exact, 0.99);
  EXPECT_DOUBLE_EQ(score.total().within, 0.99);
  EXPECT_DOUBLE_EQ(score.total().precision(), 1);
  EXPECT_DOUBLE_EQ(score.recent().exact, 1);
}

TEST(ShadowScore, later_predictions_count_within) {
  LaggedPredictor predictor(0);
  ShadowScore one(predictor, 1);
  observe_all(one, strided(50, 4096, 4096));
  EXPECT_DOUBLE_EQ(one.recent().within, 0.02);
  ShadowScore two(predictor, 2);
  predictor.observe({});
  observe_all(two, strided(50, 4096, 4096));
  EXPECT_DOUBLE_EQ(two.recent().exact, 0.02);
  EXPECT_DOUBLE_EQ(two.recent().within, 1);
}

TEST(ShadowScore, offsets_count_without_their_size) {
  LaggedPredictor predictor(1);
  ShadowScore score(predictor, 4);
  observe_all(score, strided(51, 4096, 100));
  EXPECT_DOUBLE_EQ(score.total().exact, 0);
  EXPECT_DOUBLE_EQ(score.total().offset, 50.0 / 51);
  EXPECT_DOUBLE_EQ(score.total().precision(), 0);
}

TEST(ShadowScore, recent_shares_forget_old_accesses) {
  RunPredictor predictor;
  ShadowScore score(predictor, 4);
  observe_all(score, strided(500, 4096, 1024));
  observe_all(score, scattered(64, 1U << 20U));
  EXPECT_DOUBLE_EQ(score.recent().exact, 0);
  EXPECT_GT(score.total().exact, 0.85);
}

TEST(ShadowScore, empty_score_has_shares_of_0) {
  RunPredictor predictor;
  ShadowScore score(predictor, 1);
  score.observe({.offset = 5, .size = 0});
  EXPECT_EQ(score.accesses(), 0U);
  EXPECT_EQ(score.total().exact, 0);
  EXPECT_EQ(score.recent().precision(), 0);
}

}  // namespace
}  // namespace forebay::push
