// SPDX-License-Identifier: Apache-2.0
// CostSurface: expected cost of numbered candidates, from the costs that a model predicts and from
// measurements of some of them. A Gaussian process learns the logarithm of measured / predicted
// cost over the features, so costs are logarithms of seconds throughout. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/gaussian_process.hpp"

namespace forebay::model {

struct TunerCandidate;

/// Measurements of one candidate.
struct MeasuredCost {
  std::size_t candidate = 0;
  double mean = 0;     ///< of the logarithms
  double count = 1;    ///< of measurements
  double squares = 0;  ///< of deviations from the mean, added
};

/// Of all candidates: distribution of the cost, without noise.
struct CostEstimate {
  std::vector<double> mean;
  std::vector<double> deviation;
};

class CostSurface {
 public:
  explicit CostSurface(std::span<const TunerCandidate> candidates);

  /// Estimates the scales of the process from `costs`, which must not be empty.
  void fit(std::span<const MeasuredCost> costs);

  /// After fit(), with its scales. Candidates in `pending` count as measured with the expected
  /// cost, so that they are known as well as if their measurement had arrived.
  CostEstimate estimate(std::span<const MeasuredCost> costs,
                        std::span<const std::size_t> pending = {}) const;

  /// Standard deviation of the difference of the costs of two candidates.
  double difference_deviation(std::span<const MeasuredCost> costs,
                              std::size_t a,
                              std::size_t b) const;

  /// Distance of the features of two candidates, each feature scaled to 0 … 1.
  double distance(std::size_t a, std::size_t b) const;
  double predicted(std::size_t candidate) const;
  /// Standard deviation of the logarithm of one measurement.
  double noise() const noexcept { return scales_.noise; }

  /// Replaces the predicted costs.
  void set_predicted(std::span<const double> costs);

 private:
  GpPlaces places_of(std::span<const std::size_t> candidates) const;
  GpData data_of(std::span<const MeasuredCost> costs) const;

  GpPlaces places_;  ///< all candidates
  Eigen::VectorXd predicted_;
  GpScales scales_;
};

}  // namespace forebay::model
