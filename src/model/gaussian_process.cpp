// SPDX-License-Identifier: Apache-2.0
// Rasmussen and Williams, Gaussian Processes for Machine Learning, algorithm 2.1.
#include "model/gaussian_process.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Deviation of the constant term: values are logarithms whose common offset is unknown.
constexpr double kConstantDeviation = 1;
/// Deviation of the slope of the linear term.
constexpr double kSlopeDeviation = 0.3;
/// Keeps the matrix positive definite where places are equal.
constexpr double kJitter = 1e-8;

/// A scale to try: logarithms are normally distributed around `center`.
struct ScalePrior {
  std::array<double, 4> values;
  double center;
  double deviation;

  double log_density(double value) const {
    const double z = std::log(value / center) / deviation;
    return -z * z / 2;
  }
};
constexpr ScalePrior kLength{{0.25, 0.5, 1, 2}, 0.6, 0.7};
constexpr ScalePrior kSignal{{0.1, 0.25, 0.6, 1.5}, 0.5, 0.9};
constexpr ScalePrior kNoise{{0.05, 0.1, 0.2, 0.4}, 0.12, 0.7};

MatrixXd distances(const MatrixXd& a, const MatrixXd& b) {
  MatrixXd squares = -2 * a * b.transpose();
  squares.colwise() += a.rowwise().squaredNorm();
  squares.rowwise() += b.rowwise().squaredNorm().transpose();
  return squares.cwiseMax(0).cwiseSqrt();
}

MatrixXd matern(const MatrixXd& distance, double length) {
  const auto scaled = (std::sqrt(5.0) / length * distance).array();
  return ((1 + scaled + scaled.square() / 3) * (-scaled).exp()).matrix();
}

MatrixXd trend_kernel(const VectorXd& a, const VectorXd& b) {
  return ((kSlopeDeviation * kSlopeDeviation * a * b.transpose()).array() +
          kConstantDeviation * kConstantDeviation)
      .matrix();
}

MatrixXd kernel(const GpPlaces& a, const GpPlaces& b, const GpScales& scales) {
  return trend_kernel(a.trend, b.trend) +
         scales.signal * scales.signal * matern(distances(a.features, b.features), scales.length);
}

VectorXd noise_variances(const GpData& data, double noise) {
  return (noise * noise / data.counts.array() + kJitter).matrix();
}

/// Logarithm of the probability of the data, without constants.
double log_likelihood(const GpData& data, const MatrixXd& covariance, double noise) {
  const VectorXd centered = data.values.array() - data.values.mean();
  const Eigen::LLT<MatrixXd> factor(covariance);
  const VectorXd white = factor.matrixL().solve(centered);
  const double log_determinant = factor.matrixLLT().diagonal().array().log().sum();
  const double repeats = data.counts.sum() - static_cast<double>(data.counts.size());
  return -white.squaredNorm() / 2 - log_determinant - repeats * std::log(noise) -
         data.repeat_squares / (2 * noise * noise);
}

}  // namespace

GpScales fit_scales(const GpData& data) {
  const MatrixXd distance = distances(data.places.features, data.places.features);
  const MatrixXd trend = trend_kernel(data.places.trend, data.places.trend);
  GpScales best;
  double best_density = -std::numeric_limits<double>::infinity();
  for (const double length : kLength.values) {
    const MatrixXd shape = matern(distance, length);
    for (std::size_t i = 0; i < kSignal.values.size() * kNoise.values.size(); ++i) {
      const double signal = kSignal.values.at(i / kNoise.values.size());
      const double noise = kNoise.values.at(i % kNoise.values.size());
      MatrixXd covariance = trend + signal * signal * shape;
      covariance.diagonal() += noise_variances(data, noise);
      const double density = log_likelihood(data, covariance, noise) + kLength.log_density(length) +
                             kSignal.log_density(signal) + kNoise.log_density(noise);
      if (density <= best_density) continue;
      best_density = density;
      best = {length, signal, noise};
    }
  }
  return best;
}

GaussianProcess::GaussianProcess(const GpData& data, const GpScales& scales)
    : known_(data.places), scales_(scales), offset_(data.values.mean()) {
  MatrixXd covariance = kernel(known_, known_, scales_);
  covariance.diagonal() += noise_variances(data, scales_.noise);
  factor_.compute(covariance);
  FOREBAY_ASSERT(factor_.info() == Eigen::Success);
  weights_ = factor_.solve((data.values.array() - offset_).matrix());
}

GpPosterior GaussianProcess::at(const GpPlaces& places) const {
  const MatrixXd shared = kernel(known_, places, scales_);
  const MatrixXd white = factor_.matrixL().solve(shared);
  const double prior = kConstantDeviation * kConstantDeviation + scales_.signal * scales_.signal;
  const Eigen::ArrayXd prior_variances =
      prior + kSlopeDeviation * kSlopeDeviation * places.trend.array().square();
  const Eigen::ArrayXd variances =
      prior_variances - white.colwise().squaredNorm().transpose().array();
  return {(shared.transpose() * weights_).array() + offset_, variances.max(0).sqrt().matrix()};
}

double GaussianProcess::difference_deviation(const GpPlaces& places) const {
  const MatrixXd white = factor_.matrixL().solve(kernel(known_, places, scales_));
  const MatrixXd covariance = kernel(places, places, scales_) - white.transpose() * white;
  const double variance = covariance(0, 0) + covariance(1, 1) - 2 * covariance(0, 1);
  return std::sqrt(std::max(0.0, variance));
}

}  // namespace forebay::model
