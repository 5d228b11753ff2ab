// SPDX-License-Identifier: Apache-2.0
// Runs with jitter: exact without it, log-normal with the given deviation, repeated with the same
// seed, and never better with fewer buffers.
#include "model/jitter_simulation.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::model {
namespace {

constexpr std::uint64_t kCount = 400;
const Pipeline kEven{.compute_s = 0.01, .write_s = 0.01, .count = kCount};

JitterSimulation runs_of(const Jitter& jitter) {
  return std::move(*JitterSimulation::create(kCount, jitter));
}

Pipeline with_buffers(Pipeline pipeline, std::uint64_t buffers) {
  pipeline.buffers = buffers;
  return pipeline;
}

TEST(JitterSimulation, runs_without_jitter_match_the_formula) {
  const JitterSimulation runs = runs_of({});
  for (const std::uint64_t devices : {1U, 2U, 5U}) {
    for (const std::uint64_t buffers : {std::uint64_t{1}, std::uint64_t{3}, kUnlimitedBuffers}) {
      const Pipeline p{
          .compute_s = 1, .write_s = 3, .count = kCount, .buffers = buffers, .devices = devices};
      EXPECT_EQ(runs.simulate(p)->total_s, zero_spread(*overlap(p)).total_s);
      EXPECT_EQ(runs.simulate(p)->waiting_s, zero_spread(*overlap(p)).waiting_s);
      EXPECT_EQ(*runs.advise(p), *advise(p));
    }
  }
}

TEST(JitterSimulation, draws_keep_the_mean_and_have_the_given_deviation) {
  for (const double jitter : {0.1, 0.5, 1.0}) {
    // The synchronous time is a sum of independent writes with known mean and deviation.
    const JitterSimulation runs = runs_of({.write = jitter});
    const Pipeline p{.compute_s = 0, .write_s = 1, .count = kCount, .buffers = 1};
    const Spread sum = runs.simulate(p)->synchronous_s;
    const double deviation = jitter * std::sqrt(static_cast<double>(kCount));
    const double error = deviation / std::sqrt(static_cast<double>(runs.run_count()));
    EXPECT_NEAR(sum.mean, static_cast<double>(kCount), 4 * error) << jitter;
    EXPECT_NEAR((sum.high - sum.low) / (2 * 1.645 * deviation), 1, 0.3) << jitter;
  }
}

TEST(JitterSimulation, loss_with_two_buffers_is_largest_for_equal_times) {
  const JitterSimulation runs = runs_of({.write = 0.5});
  const auto lost = [&runs](double compute_s) {
    const Pipeline p{.compute_s = compute_s, .write_s = 0.01, .count = kCount};
    return runs.simulate(p)->total_s.mean / overlap(p)->total_s;
  };
  EXPECT_GT(lost(0.01), 1.1);
  EXPECT_LT(lost(0.001), 1.01);
  EXPECT_LT(lost(0.1), 1.01);
}

TEST(JitterSimulation, more_buffers_never_take_longer_or_exceed_the_bound) {
  const JitterSimulation runs = runs_of({.compute = 0.3, .write = 1});
  const double bound = *gain_bound(kEven);
  double before_s = std::numeric_limits<double>::infinity();
  for (const std::uint64_t buffers : {1U, 2U, 3U, 5U, 8U, 100U, 400U}) {
    const OverlapSpread run = *runs.simulate(with_buffers(kEven, buffers));
    EXPECT_LE(run.total_s.mean, before_s) << buffers;
    EXPECT_LE(run.gain.high, bound) << buffers;
    EXPECT_LE(run.gain.low, run.gain.mean) << buffers;
    EXPECT_LE(run.gain.mean, run.gain.high) << buffers;
    before_s = run.total_s.mean;
  }
  EXPECT_EQ(runs.simulate(with_buffers(kEven, kUnlimitedBuffers))->total_s.mean, before_s);
}

TEST(JitterSimulation, more_jitter_needs_more_buffers) {
  const auto best = [](double jitter) { return runs_of({.write = jitter}).advise(kEven)->buffers; };
  EXPECT_EQ(best(0), 2U);
  EXPECT_GT(best(0.3), 2U);
  EXPECT_GT(best(1), best(0.3));
}

TEST(JitterSimulation, advice_is_the_first_number_near_the_best) {
  const JitterSimulation runs = runs_of({.write = 0.4});
  const PipelineAdvice advice = *runs.advise(kEven);
  const auto total_s = [&runs](std::uint64_t buffers) {
    return runs.simulate(with_buffers(kEven, buffers))->total_s.mean;
  };
  const double enough_s = kNearBestFactor * total_s(kUnlimitedBuffers);
  EXPECT_LE(total_s(advice.buffers), enough_s);
  EXPECT_GT(total_s(advice.buffers - 1), enough_s);
}

TEST(JitterSimulation, runs_repeat_with_the_same_seed_only) {
  const auto total_s = [](std::uint64_t seed) {
    return runs_of({.write = 0.3, .seed = seed}).simulate(kEven)->total_s;
  };
  EXPECT_EQ(total_s(7), total_s(7));
  EXPECT_NE(total_s(7), total_s(8));
  EXPECT_NE(total_s(7), total_s(7 + (1ULL << 32U))) << "all bits of a seed count";
}

TEST(JitterSimulation, draws_of_writes_do_not_depend_on_compute_jitter) {
  const Pipeline writing{.compute_s = 0, .write_s = 1, .count = kCount};
  const auto alone = runs_of({.write = 0.3}).simulate(writing);
  const auto both = runs_of({.compute = 0.3, .write = 0.3}).simulate(writing);
  EXPECT_EQ(alone->total_s, both->total_s);
}

TEST(JitterSimulation, longer_runs_are_fewer) {
  EXPECT_EQ(JitterSimulation::create(1, {.write = 1})->run_count(), 200U);
  EXPECT_EQ(JitterSimulation::create(kSimulatedCountMax, {})->run_count(), 20U);
}

TEST(JitterSimulation, invalid_jitter_is_an_error) {
  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  for (const double wrong : {-0.1, kNoNumber, kJitterMax * 2}) {
    const auto class_of = [](const Jitter& jitter) {
      return error_class(JitterSimulation::create(kCount, jitter));
    };
    EXPECT_EQ(class_of({.write = wrong}), ErrorClass::kInvalidArgument) << wrong;
    EXPECT_EQ(class_of({.compute = wrong}), ErrorClass::kInvalidArgument) << wrong;
  }
  EXPECT_EQ(error_class(JitterSimulation::create(0, {})), ErrorClass::kLimit);
  EXPECT_EQ(error_class(JitterSimulation::create(kSimulatedCountMax + 1, {})), ErrorClass::kLimit);
}

TEST(JitterSimulation, invalid_pipeline_or_other_count_is_refused) {
  const JitterSimulation runs = runs_of({.write = 0.3});
  const Pipeline longer{.compute_s = 1, .write_s = 1, .count = kCount + 1};
  EXPECT_EQ(error_class(runs.simulate(longer)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(runs.advise(longer)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(runs.simulate(with_buffers(kEven, 0))), ErrorClass::kInvalidArgument);
}

}  // namespace
}  // namespace forebay::model
