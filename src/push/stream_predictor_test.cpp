// SPDX-License-Identifier: Apache-2.0
// StreamPredictor: upper bounds of misses, its states, and whether pushing is worthwhile.
#include "push/stream_predictor.hpp"

#include <gtest/gtest.h>

#include "push/testing.hpp"
#include "trace/access_patterns.hpp"
#include "trace/item_testing.hpp"

namespace forebay::push {
namespace {

bool is_hit(const StreamPredictor& predictor, const trace::Access& access) {
  Prediction next;
  return predictor.predict({&next, 1}) > 0 && next.offset == access.offset &&
         next.size == access.size;
}

/// Number of accesses that were not in the first predicted position.
std::uint64_t observe_all(StreamPredictor& predictor, const Stream& stream) {
  std::uint64_t misses = 0;
  for (const trace::Access& access : stream) {
    misses += is_hit(predictor, access) ? 0 : 1;
    predictor.observe(access);
  }
  return misses;
}

std::uint64_t misses_of(const Stream& stream, std::size_t neural_steps = 0) {
  StreamPredictor predictor(neural_steps);
  return observe_all(predictor, stream);
}

Stream stream_of_pattern(std::string_view name) {
  const auto found = trace::access_pattern(name);
  EXPECT_TRUE(found) << name;
  return found ? trace::testing::accesses_of(*found) : Stream{};
}

Stream moved(Stream stream, std::uint64_t distance) {
  for (trace::Access& access : stream)
    access.offset += distance;
  return stream;
}

/// 40 runs of 5 accesses at random offsets, the same again in each epoch.
Stream irregular_runs(std::uint64_t epochs) {
  Stream stream;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    std::mt19937_64 random(17);
    for (int run = 0; run < 40; ++run) {
      for (const trace::Access& access : moved(strided(5, 8192, 1024), random() % (1U << 30U)))
        stream.push_back(access);
    }
  }
  return stream;
}

struct Bound {
  std::string_view name;
  std::uint64_t misses;
};

TEST(StreamPredictor, misses_of_known_patterns_are_bounded) {
  constexpr std::array<Bound, 14> kBounds = {{{"stride.4k", 4},
                                              {"stride.16k", 4},
                                              {"stride.32k", 4},
                                              {"stride.64k", 4},
                                              {"nested.4k", 6},
                                              {"nested.16k", 6},
                                              {"nested.64k", 6},
                                              {"lu", 16},
                                              {"btio", 3},
                                              {"btio_simple", 78},
                                              {"sequential", 4},
                                              {"mpi_tile_io", 6},
                                              {"flash_io", 6},
                                              {"mpiblast", 16}}};
  for (const Bound& bound : kBounds) {
    EXPECT_LE(misses_of(stream_of_pattern(bound.name)), bound.misses) << bound.name;
    EXPECT_LE(misses_of(stream_of_pattern(bound.name), 4), bound.misses)
        << bound.name << ", neural";
  }
}

TEST(StreamPredictor, misses_of_test_streams_are_bounded) {
  EXPECT_LE(misses_of(strided(200, 4096, 1024)), 4U);
  EXPECT_LE(misses_of(nested(100)), 6U);
  EXPECT_LE(misses_of(lu(126)), 16U);
  EXPECT_LE(misses_of(btio_rows(3)), 78U);
  EXPECT_LE(misses_of(triangular(500)), 6U);
}

TEST(StreamPredictor, later_epochs_of_permutation_are_predicted) {
  for (const Stream& epochs : {stream_of_pattern("random.2_epochs"), permuted(400, 2)}) {
    const std::size_t half = epochs.size() / 2;
    const auto second = epochs.begin() + static_cast<std::ptrdiff_t>(half);
    StreamPredictor predictor;
    observe_all(predictor, Stream(epochs.begin(), second));
    EXPECT_FALSE(predictor.gate().is_open());
    EXPECT_LE(observe_all(predictor, Stream(second, epochs.end())), half / 100);
    EXPECT_EQ(predictor.active(), "successor");
    EXPECT_TRUE(predictor.gate().is_open());
    EXPECT_LE(observe_all(predictor, Stream(second, epochs.end())), half / 100);
  }
}

TEST(StreamPredictor, state_is_bounded) {
  EXPECT_LE(StreamPredictor().state_bytes(), kStreamStateBytesMax);
  EXPECT_GT(StreamPredictor(1).state_bytes(), StreamPredictor().state_bytes());
  EXPECT_LE(StreamPredictor(1).state_bytes(), kStreamStateBytesMax);
}

TEST(StreamPredictor, new_stream_is_in_learning_and_predicts_nothing) {
  StreamPredictor predictor;
  std::array<Prediction, 4> ahead;
  EXPECT_EQ(predictor.predict(ahead), 0U);
  EXPECT_EQ(predictor.predict({}), 0U);
  EXPECT_EQ(predictor.state(), StreamState::kLearning);
  EXPECT_EQ(predictor.active(), "");
  EXPECT_FALSE(predictor.gate().is_open());
}

TEST(StreamPredictor, learning_ends_after_three_exact_predictions) {
  StreamPredictor predictor;
  const Stream stream = strided(5, 4096, 1024);
  for (const trace::Access& access : stream) {
    EXPECT_EQ(predictor.state(), StreamState::kLearning);
    EXPECT_EQ(predictor.active(), "");
    predictor.observe(access);
  }
  EXPECT_EQ(predictor.state(), StreamState::kPrediction);
  EXPECT_EQ(predictor.active(), "runs");
  EXPECT_TRUE(predictor.gate().is_open());
}

TEST(StreamPredictor, supervision_begins_after_16_hits_and_its_interval_doubles) {
  StreamPredictor predictor;
  const Stream stream = strided(300, 4096, 1024);
  std::size_t next = 0;
  const auto observe = [&](std::size_t count) {
    for (; count > 0; --count)
      predictor.observe(stream[next++]);
  };
  observe(5 + 15);
  EXPECT_EQ(predictor.state(), StreamState::kPrediction);
  observe(1);
  for (const std::size_t interval : {2U, 4U, 8U, 16U, 32U, 64U, 64U}) {
    EXPECT_EQ(predictor.state(), StreamState::kSupervision);
    EXPECT_EQ(predictor.interval(), interval);
    observe(interval);
  }
}

TEST(StreamPredictor, miss_returns_to_supervision_of_each_access) {
  StreamPredictor predictor;
  observe_all(predictor, strided(200, 4096, 1024));
  const Stream stream = moved(strided(30, 4096, 1024), 1U << 30U);
  predictor.observe(stream[0]);
  EXPECT_EQ(predictor.state(), StreamState::kSupervision);
  EXPECT_EQ(predictor.interval(), 1U);
  EXPECT_EQ(predictor.active(), "runs");
  EXPECT_TRUE(predictor.gate().is_open());
  EXPECT_LE(observe_all(predictor, Stream(stream.begin() + 1, stream.end())), 1U);
  EXPECT_GT(predictor.interval(), 1U);
}

TEST(StreamPredictor, several_misses_return_to_learning) {
  StreamPredictor predictor;
  observe_all(predictor, strided(200, 4096, 1024));
  observe_all(predictor, scattered(3, 1U << 20U));
  EXPECT_EQ(predictor.state(), StreamState::kSupervision);
  observe_all(predictor, moved(scattered(1, 1U << 20U), 7));
  EXPECT_EQ(predictor.state(), StreamState::kLearning);
  EXPECT_EQ(predictor.active(), "");
}

TEST(StreamPredictor, pattern_that_changes_is_learned_again) {
  StreamPredictor predictor;
  EXPECT_LE(observe_all(predictor, strided(200, 4096, 1024)), 4U);
  EXPECT_LE(observe_all(predictor, moved(nested(100), 1U << 30U)), 8U);
  EXPECT_LE(observe_all(predictor, lu(40)), 20U);
  EXPECT_LE(observe_all(predictor, permuted(200, 2)), 204U);
  EXPECT_EQ(predictor.active(), "successor");
  EXPECT_LE(observe_all(predictor, moved(triangular(200), 1U << 30U)), 10U);
  EXPECT_LE(observe_all(predictor, strided(200, 65536, 512)), 8U);
  EXPECT_EQ(predictor.state(), StreamState::kSupervision);
  EXPECT_TRUE(predictor.gate().is_open());
}

TEST(StreamPredictor, better_predictor_replaces_the_active_one) {
  StreamPredictor predictor;
  observe_all(predictor, strided(100, 8192, 1024));
  EXPECT_EQ(predictor.active(), "runs");
  observe_all(predictor, irregular_runs(2));
  EXPECT_LE(observe_all(predictor, irregular_runs(1)), 2U);
  EXPECT_NE(predictor.active(), "runs");
}

TEST(StreamPredictor, random_stream_is_not_worthwhile) {
  for (const std::uint64_t blocks : {16U, 256U, 1U << 20U}) {
    StreamPredictor predictor;
    std::uint64_t worthwhile = 0;
    for (const trace::Access& access : scattered(20'000, blocks)) {
      predictor.observe(access);
      worthwhile += predictor.gate().is_open() ? 1 : 0;
    }
    EXPECT_LE(worthwhile, 40U) << blocks;
  }
}

TEST(StreamPredictor, random_stream_after_stride_is_not_worthwhile) {
  StreamPredictor predictor;
  observe_all(predictor, strided(200, 4096, 1024));
  EXPECT_TRUE(predictor.gate().is_open());
  observe_all(predictor, scattered(64, 1U << 20U));
  EXPECT_FALSE(predictor.gate().is_open());
  observe_all(predictor, strided(40, 4096, 1024));
  EXPECT_TRUE(predictor.gate().is_open());
}

// HDF5 reads small headers before a strided dataset: the gate then opened after 50 strided reads.
TEST(StreamPredictor, stride_after_scattered_accesses_is_soon_worthwhile) {
  StreamPredictor predictor;
  observe_all(predictor, {{0, 8}, {0, 48}, {48, 48}, {96, 512}, {680, 512}, {136, 544}});
  observe_all(predictor, {{1072, 328}, {800, 512}});
  EXPECT_FALSE(predictor.gate().is_open());
  observe_all(predictor, strided(14, 131'072, 65'536));
  EXPECT_TRUE(predictor.gate().is_open());
}

TEST(StreamPredictor, consecutive_accesses_of_varying_size_are_worthwhile) {
  StreamPredictor predictor;
  observe_all(predictor, consecutive(100));
  EXPECT_EQ(predictor.state(), StreamState::kLearning);
  EXPECT_TRUE(predictor.gate().is_open());
}

TEST(StreamPredictor, unpredictable_accesses_are_ignored) {
  StreamPredictor predictor;
  observe_all(predictor, strided(100, 4096, 1024));
  const std::size_t interval = predictor.interval();
  predictor.observe({.offset = 5, .size = 0});
  predictor.observe({.offset = ~std::uint64_t{0}, .size = 1});
  EXPECT_TRUE(is_hit(predictor, {.offset = 409'600, .size = 1024}));
  EXPECT_EQ(predictor.interval(), interval);
  EXPECT_GT(interval, 1U);
}

TEST(StreamPredictor, look_ahead_goes_beyond_the_predictions_of_supervision) {
  StreamPredictor predictor;
  observe_all(predictor, strided(300, 4096, 1024));
  std::array<Prediction, 64> ahead;
  ASSERT_EQ(predictor.predict(ahead), ahead.size());
  EXPECT_EQ(ahead.back().offset, (300 + 63) * 4096U);
}

TEST(PrecisionGate, opens_at_three_quarters_and_closes_below_half) {
  PrecisionGate gate;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(gate.is_open());
    gate.record_hit();
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(gate.is_open());
    gate.record_miss();
  }
  EXPECT_TRUE(gate.is_open());  // 3 of 6
  gate.record_miss();
  EXPECT_FALSE(gate.is_open());
  for (int i = 0; i < 7; ++i)
    gate.record_hit();
  EXPECT_FALSE(gate.is_open());  // 10 of 14
  gate.record_hit();
  EXPECT_TRUE(gate.is_open());  // 8 in a row
}

TEST(PrecisionGate, closes_after_16_accesses_without_prediction) {
  PrecisionGate gate;
  for (int i = 0; i < 16; ++i)
    gate.record_hit();
  for (int i = 0; i < 15; ++i)
    gate.record_silence();
  EXPECT_TRUE(gate.is_open());
  gate.record_silence();
  EXPECT_FALSE(gate.is_open());
}

}  // namespace
}  // namespace forebay::push
