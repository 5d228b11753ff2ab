// SPDX-License-Identifier: Apache-2.0
// GaussianProcess: regression of few noisy measurements, as CandidateTuner uses it. The kernel is
// the sum of a constant, a linear term in `trend`, and a Matern 5/2 term in the features. Pure.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace forebay::model {

/// Places of the regression: one row of features each, in 0 … 1.
struct GpPlaces {
  Eigen::MatrixXd features;
  Eigen::VectorXd trend;
};

/// Measurements, one row for each place.
struct GpData {
  GpPlaces places;
  Eigen::VectorXd values;     ///< mean of the measurements of a place
  Eigen::VectorXd counts;     ///< measurements of a place, at least 1
  double repeat_squares = 0;  ///< squared deviations from `values`, of all measurements
};

/// Scales of the kernel.
struct GpScales {
  double length = 1;  ///< distance of features over which values are similar
  double signal = 1;  ///< standard deviation of values between distant places
  double noise = 1;   ///< standard deviation of one measurement
};

/// The most probable scales of a small grid, by marginal likelihood and weak priors. `data` must
/// not be empty.
GpScales fit_scales(const GpData& data);

/// The distribution of the values at places, without noise.
struct GpPosterior {
  Eigen::VectorXd mean;
  Eigen::VectorXd deviation;
};

class GaussianProcess {
 public:
  /// `data` must not be empty.
  GaussianProcess(const GpData& data, const GpScales& scales);

  GpPosterior at(const GpPlaces& places) const;
  /// Standard deviation of the difference of the values at two rows of `places`.
  double difference_deviation(const GpPlaces& places) const;

 private:
  GpPlaces known_;
  GpScales scales_;
  double offset_ = 0;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  Eigen::VectorXd weights_;
};

}  // namespace forebay::model
