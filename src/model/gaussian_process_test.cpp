// SPDX-License-Identifier: Apache-2.0
#include "model/gaussian_process.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace forebay::model {
namespace {

GpPlaces places_on_line(int count) {
  GpPlaces places{Eigen::MatrixXd(count, 1), Eigen::VectorXd::Zero(count)};
  for (int i = 0; i < count; ++i)
    places.features(i, 0) = static_cast<double>(i) / std::max(1, count - 1);
  return places;
}

GpData data_on_line(const Eigen::VectorXd& values) {
  const auto count = values.size();
  return {places_on_line(static_cast<int>(count)), values, Eigen::VectorXd::Ones(count)};
}

TEST(GaussianProcess, equals_closed_form_for_one_measurement) {
  const GpScales scales{.length = 1, .signal = 0.5, .noise = 0.1};
  const GaussianProcess process(data_on_line(Eigen::VectorXd::Constant(1, 3)), scales);
  const GpPosterior posterior = process.at(places_on_line(2));
  EXPECT_NEAR(posterior.mean[0], 3, 1e-12);
  // Prior variance k, minus k² / (k + noise²), with a constant of variance 1.
  const double prior = 1 + 0.25;
  EXPECT_NEAR(posterior.deviation[0], std::sqrt(prior - prior * prior / (prior + 0.01)), 1e-7);
  const double root = std::sqrt(5.0);
  const double shared = 1 + 0.25 * (1 + root + 5.0 / 3) * std::exp(-root);
  EXPECT_NEAR(posterior.deviation[1], std::sqrt(prior - shared * shared / (prior + 0.01)), 1e-7);
}

TEST(GaussianProcess, interpolates_values_without_noise) {
  Eigen::VectorXd values(9);
  for (int i = 0; i < values.size(); ++i)
    values[i] = std::sin(3.0 * i / 8);
  const GaussianProcess process(data_on_line(values), {.length = 1, .signal = 1, .noise = 1e-3});
  const GpPosterior posterior = process.at(places_on_line(17));
  for (int i = 0; i < 17; ++i) {
    EXPECT_NEAR(posterior.mean[i], std::sin(3.0 * i / 16), 0.02);
    EXPECT_LT(posterior.deviation[i], 0.1);
  }
}

TEST(GaussianProcess, repeated_measurements_reduce_the_deviation) {
  GpData data = data_on_line(Eigen::VectorXd::Zero(2));
  data.counts[1] = 8;
  const GaussianProcess process(data, {.length = 0.25, .signal = 1, .noise = 0.4});
  const GpPosterior posterior = process.at(data.places);
  EXPECT_LT(posterior.deviation[1], posterior.deviation[0] / 2);
}

TEST(GaussianProcess, difference_of_neighbors_is_known_better_than_their_values) {
  const GpData data = data_on_line(Eigen::VectorXd::Zero(1));
  const GaussianProcess process(data, {.length = 1, .signal = 0.5, .noise = 0.3});
  GpPlaces near{Eigen::MatrixXd(2, 1), Eigen::VectorXd::Zero(2)};
  near.features << 0.5, 0.55;
  EXPECT_LT(process.difference_deviation(near), process.at(near).deviation[0] / 3);
  near.features << 0.5, 0.5;
  EXPECT_NEAR(process.difference_deviation(near), 0, 1e-6);
}

TEST(FitScales, finds_the_noise_of_repeated_measurements) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> deviate(0, 1);
  for (const double noise : {0.05, 0.3}) {
    GpData data = data_on_line(Eigen::VectorXd::Zero(12));
    for (int i = 0; i < 12; ++i)
      data.values[i] = noise * deviate(random) / std::sqrt(4.0);
    data.counts.setConstant(4);
    data.repeat_squares = 36 * noise * noise;
    EXPECT_NEAR(std::log(fit_scales(data).noise / noise), 0, 0.5);
  }
}

TEST(FitScales, rough_values_have_a_larger_signal_than_smooth_ones) {
  Eigen::VectorXd rough(12);
  for (int i = 0; i < 12; ++i)
    rough[i] = i % 3 == 0 ? 1.5 : -1;
  const GpScales of_rough = fit_scales(data_on_line(rough));
  const GpScales of_flat = fit_scales(data_on_line(Eigen::VectorXd::Constant(12, 2)));
  EXPECT_GT(of_rough.signal, of_flat.signal);
  EXPECT_LT(of_rough.length, 1);
}

}  // namespace
}  // namespace forebay::model
