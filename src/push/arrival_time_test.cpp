// SPDX-License-Identifier: Apache-2.0
// ArrivalTime: median of error / interval for steady, drifting and bursty intervals with noise.
#include "push/arrival_time.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::push {
namespace {

/// Intervals with 10 % noise.
std::vector<std::int64_t> intervals(std::size_t count, const std::function<double(double)>& at) {
  std::mt19937_64 random(17);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double noise = static_cast<double>(random() % 2001) / 10'000 - 0.1;
    values.push_back(std::llround(at(static_cast<double>(i)) * (1 + noise)));
  }
  return values;
}

double burst(double number) { return std::fmod(number, 8) == 7 ? 5e6 : 2e5; }

/// Of predictions `ahead` accesses ahead, after the first 64 intervals.
double median_error(const std::vector<std::int64_t>& values, std::size_t ahead) {
  ArrivalTime arrivals;
  std::vector<double> errors;
  for (std::size_t i = 0; i + ahead <= values.size(); ++i) {
    if (i >= 64) {
      double actual = 0;
      for (std::size_t j = i; j < i + ahead; ++j)
        actual += static_cast<double>(values[j]);
      const auto predicted = static_cast<double>(arrivals.predict(ahead).value().time_ns);
      errors.push_back(std::abs(predicted - actual) / actual);
    }
    arrivals.observe(values[i]);
  }
  std::ranges::sort(errors);
  return errors[errors.size() / 2];
}

TEST(ArrivalTime, steady_intervals_have_small_errors) {
  const auto values = intervals(500, [](double) { return 1e6; });
  EXPECT_LE(median_error(values, 1), 0.08);
  EXPECT_LE(median_error(values, 16), 0.03);
}

TEST(ArrivalTime, drifting_intervals_have_small_errors) {
  const auto growing = intervals(500, [](double i) { return 1e6 * (1 + i / 50); });
  EXPECT_LE(median_error(growing, 1), 0.1);
  EXPECT_LE(median_error(growing, 16), 0.1);
  const auto shrinking = intervals(300, [](double i) { return 1e6 * std::pow(0.99, i); });
  EXPECT_LE(median_error(shrinking, 1), 0.1);
}

TEST(ArrivalTime, bursts_have_small_errors) {
  const auto values = intervals(500, burst);
  EXPECT_LE(median_error(values, 1), 0.1);
  EXPECT_LE(median_error(values, 4), 0.2);
  EXPECT_LE(median_error(values, 24), 0.1);
}

TEST(ArrivalTime, spread_is_the_error_to_expect) {
  ArrivalTime steady;
  ArrivalTime noisy;
  for (const std::int64_t interval : intervals(200, [](double) { return 1e6; }))
    noisy.observe(interval);
  for (int i = 0; i < 200; ++i)
    steady.observe(1'000'000);
  EXPECT_EQ(steady.predict(1)->time_ns, 1'000'000);
  EXPECT_EQ(steady.predict(1)->spread_ns, 0);
  EXPECT_NEAR(static_cast<double>(noisy.predict(1)->spread_ns), 5e4, 2e4);
  EXPECT_GT(noisy.predict(4)->spread_ns, noisy.predict(1)->spread_ns);
}

TEST(ArrivalTime, there_is_no_estimate_before_two_intervals) {
  ArrivalTime arrivals;
  EXPECT_FALSE(arrivals.predict(1));
  arrivals.observe(1000);
  EXPECT_FALSE(arrivals.predict(1));
  arrivals.observe(1000);
  EXPECT_EQ(arrivals.predict(3)->time_ns, 3000);
}

TEST(ArrivalTime, unusual_intervals_give_times_in_range) {
  ArrivalTime arrivals;
  for (int i = 0; i < 100; ++i) {
    arrivals.observe(i % 3 == 0 ? std::numeric_limits<std::int64_t>::max() : -5);
    const auto estimate = arrivals.predict(1'000'000);
    if (!estimate) continue;
    EXPECT_GE(estimate->time_ns, 0);
    EXPECT_GE(estimate->spread_ns, 0);
  }
}

TEST(ArrivalTime, state_is_bounded) { EXPECT_LE(ArrivalTime().state_bytes(), 2048U); }

}  // namespace
}  // namespace forebay::push
