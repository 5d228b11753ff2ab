// SPDX-License-Identifier: Apache-2.0
// Curves of known shape, with noise: a storage that needs a number of bytes in flight.
#include "tools/calibrate/in_flight_choice.hpp"

#include <forebay/range.hpp>

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace forebay::calibrate {
namespace {

constexpr std::size_t kRounds = 5;

/// Points of 4 MiB to 128 MiB of a storage that `needed` bytes in flight keep busy.
std::vector<InFlightPoint> curve(double needed) {
  std::vector<InFlightPoint> points;
  for (const std::uint64_t bytes : {4_MiB, 8_MiB, 16_MiB, 32_MiB, 64_MiB, 128_MiB}) {
    const double share = std::min(1.0, static_cast<double>(bytes) / needed);
    points.push_back({bytes, std::vector<double>(kRounds, 1e9 * share)});
  }
  return points;
}

std::uint64_t chosen(const std::vector<InFlightPoint>& points) {
  return points.at(choose_in_flight(points).index).in_flight_bytes;
}

TEST(InFlightChoice, fewest_that_reach_the_best) {
  EXPECT_EQ(chosen(curve(1e6)), 4_MiB);
  EXPECT_EQ(chosen(curve(16_MiB)), 16_MiB);
  EXPECT_EQ(chosen(curve(17e6)), 16_MiB) << "within 2 %";
  EXPECT_EQ(chosen(curve(20e6)), 32_MiB);
  EXPECT_EQ(chosen(curve(1e9)), 128_MiB) << "no point suffices: the largest one";
}

TEST(InFlightChoice, more_may_be_worse) {
  auto points = curve(8_MiB);
  for (std::size_t i = 2; i < points.size(); ++i)
    points[i].bytes_per_second.assign(kRounds, 0.7e9);
  EXPECT_EQ(chosen(points), 8_MiB);
}

TEST(InFlightChoice, one_point_and_one_round_are_enough_to_choose) {
  EXPECT_EQ(chosen({{4_MiB, {1.0}}}), 4_MiB);
  EXPECT_EQ(chosen({{4_MiB, {1.0}}, {8_MiB, {2.0}}}), 8_MiB);
}

TEST(InFlightChoice, shares_are_of_the_best) {
  const InFlightChoice choice = choose_in_flight(curve(16_MiB));
  ASSERT_EQ(choice.shares.size(), 6U);
  EXPECT_DOUBLE_EQ(choice.shares[0], 0.25);
  EXPECT_DOUBLE_EQ(choice.shares[5], 1);
  EXPECT_DOUBLE_EQ(choice.noise, 0);
}

TEST(InFlightChoice, noise_is_the_usual_distance_from_the_median) {
  const InFlightPoint steady{4_MiB, {1, 1, 1, 1, 1}};
  const InFlightPoint one{8_MiB, {0.9, 1.1, 0.9, 1.1, 1}};
  const InFlightPoint other{16_MiB, {1.1, 0.9, 1.1, 0.9, 1}};
  EXPECT_NEAR(choose_in_flight({steady, one, other}).noise, 0.1, 1e-9);
}

// Other programs write meanwhile: whole rounds are slow, independent of their points.
TEST(InFlightChoice, rounds_that_differ_by_any_factor_do_not_matter) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> factor(0.1, 10);
  for (int run = 0; run < 200; ++run) {
    auto points = curve(16_MiB);
    for (std::size_t round = 0; round < kRounds; ++round) {
      const double slow = factor(random);
      for (InFlightPoint& point : points)
        point.bytes_per_second[round] *= slow;
    }
    EXPECT_EQ(chosen(points), 16_MiB) << "run " << run;
  }
}

TEST(InFlightChoice, two_disturbed_values_of_each_point_do_not_matter) {
  std::mt19937_64 random(2);
  for (int run = 0; run < 200; ++run) {
    auto points = curve(16_MiB);
    for (InFlightPoint& point : points) {
      std::vector<std::size_t> rounds{0, 1, 2, 3, 4};
      std::shuffle(rounds.begin(), rounds.end(), random);
      // Not enough to move the median of a round to another point.
      for (std::size_t i = 0; i < 2; ++i)
        point.bytes_per_second[rounds[i]] *= i == 0 ? 0.995 : 1.005;
    }
    EXPECT_EQ(chosen(points), 16_MiB) << "run " << run;
  }
}

// With noise as large as the tolerance, adjacent points cannot be distinguished, but points far
// below the optimum can.
TEST(InFlightChoice, noise_of_two_percent_never_loses_a_tenth) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(1, 0.02);
  for (int run = 0; run < 500; ++run) {
    auto points = curve(16_MiB);
    for (InFlightPoint& point : points) {
      for (double& rate : point.bytes_per_second)
        rate *= noise(random);
    }
    EXPECT_GE(chosen(points), 16_MiB) << "run " << run;
  }
}

}  // namespace
}  // namespace forebay::calibrate
