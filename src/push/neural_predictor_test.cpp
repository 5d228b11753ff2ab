// SPDX-License-Identifier: Apache-2.0
// NeuralPredictor: learns noisy patterns, and predicts nothing before it has.
#include "push/neural_predictor.hpp"

#include <gtest/gtest.h>

#include "push/testing.hpp"

namespace forebay::push {
namespace {

/// A pattern of 6 steps, of which one in ten is replaced by a random one.
Stream noisy(std::uint64_t count, std::uint32_t seed) {
  constexpr std::array<std::uint64_t, 6> kDistances = {64, 64, 64, 5000, 64, 900};
  std::mt19937_64 random(seed);
  Stream stream;
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    stream.push_back({offset, 64});
    offset += random() % 10 == 0 ? random() % 100'000 : kDistances[i % 6];
  }
  return stream;
}

std::uint64_t misses_after_training(NeuralPredictor& predictor, const Stream& stream) {
  for (const trace::Access& access : stream) {
    predictor.observe(access);
    predictor.train(8);
  }
  Stream later = noisy(1000, 5);
  return outcome_of(predictor, later).misses;
}

TEST(NeuralPredictor, untrained_network_predicts_nothing) {
  NeuralPredictor predictor;
  EXPECT_EQ(outcome_of(predictor, noisy(1000, 1)).predicted, 0U);
}

TEST(NeuralPredictor, noisy_pattern_is_mostly_predicted_after_training) {
  NeuralPredictor predictor;
  EXPECT_LE(misses_after_training(predictor, noisy(2000, 2)), 300U);
}

TEST(NeuralPredictor, same_seed_gives_same_predictions) {
  NeuralPredictor first(3);
  NeuralPredictor second(3);
  EXPECT_EQ(misses_after_training(first, noisy(500, 2)),
            misses_after_training(second, noisy(500, 2)));
  std::array<Prediction, 8> of_first;
  std::array<Prediction, 8> of_second;
  EXPECT_EQ(first.predict(of_first), second.predict(of_second));
  EXPECT_EQ(of_first, of_second);
}

TEST(NeuralPredictor, random_stream_stays_without_predictions) {
  NeuralPredictor predictor;
  std::uint64_t predicted = 0;
  for (const trace::Access& access : scattered(2000, 1U << 20U)) {
    Prediction next;
    predicted += predictor.predict({&next, 1});
    predictor.observe(access);
    predictor.train(4);
  }
  EXPECT_EQ(predicted, 0U);
}

TEST(NeuralPredictor, training_without_samples_does_nothing) {
  NeuralPredictor predictor;
  predictor.train(100);
  Prediction next;
  EXPECT_EQ(predictor.predict({&next, 1}), 0U);
}

}  // namespace
}  // namespace forebay::push
