// SPDX-License-Identifier: Apache-2.0
#include "model/cost_surface.hpp"

#include <cmath>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "model/candidate_tuner.hpp"

namespace forebay::model {

namespace {

Eigen::Index index_of(std::size_t number) { return static_cast<Eigen::Index>(number); }

/// Scales each column to 0 … 1; constant columns become 0.
void scale_columns(Eigen::MatrixXd& features) {
  if (features.cols() == 0) return;
  features.rowwise() -= features.colwise().minCoeff().eval();
  for (auto column : features.colwise()) {
    const double most = column.maxCoeff();
    if (most > 0) column /= most;
  }
}

std::vector<double> to_vector(const Eigen::VectorXd& values) {
  return {values.begin(), values.end()};
}

}  // namespace

CostSurface::CostSurface(std::span<const TunerCandidate> candidates)
    : predicted_(index_of(candidates.size())) {
  FOREBAY_ASSERT(!candidates.empty());
  const std::size_t features = candidates.front().features.size();
  places_.features.resize(index_of(candidates.size()), index_of(features));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    FOREBAY_ASSERT(candidates[i].features.size() == features);
    FOREBAY_ASSERT(candidates[i].predicted_s > 0);
    predicted_[index_of(i)] = std::log(candidates[i].predicted_s);
    for (std::size_t k = 0; k < features; ++k)
      places_.features(index_of(i), index_of(k)) = candidates[i].features[k];
  }
  scale_columns(places_.features);
  places_.trend = predicted_.array() - predicted_.mean();
}

GpPlaces CostSurface::places_of(std::span<const std::size_t> candidates) const {
  GpPlaces places{Eigen::MatrixXd(index_of(candidates.size()), places_.features.cols()),
                  Eigen::VectorXd(index_of(candidates.size()))};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    places.features.row(index_of(i)) = places_.features.row(index_of(candidates[i]));
    places.trend[index_of(i)] = places_.trend[index_of(candidates[i])];
  }
  return places;
}

GpData CostSurface::data_of(std::span<const MeasuredCost> costs) const {
  std::vector<std::size_t> candidates;
  GpData data{.values = Eigen::VectorXd(index_of(costs.size())),
              .counts = Eigen::VectorXd(index_of(costs.size()))};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    candidates.push_back(costs[i].candidate);
    data.values[index_of(i)] = costs[i].mean - predicted(costs[i].candidate);
    data.counts[index_of(i)] = costs[i].count;
    data.repeat_squares += costs[i].squares;
  }
  data.places = places_of(candidates);
  return data;
}

void CostSurface::fit(std::span<const MeasuredCost> costs) { scales_ = fit_scales(data_of(costs)); }

CostEstimate CostSurface::estimate(std::span<const MeasuredCost> costs,
                                   std::span<const std::size_t> pending) const {
  const GpPosterior posterior = GaussianProcess(data_of(costs), scales_).at(places_);
  const CostEstimate estimate{to_vector(posterior.mean + predicted_),
                              to_vector(posterior.deviation)};
  if (pending.empty()) return estimate;
  std::vector<MeasuredCost> assumed(costs.begin(), costs.end());
  for (const std::size_t candidate : pending)
    assumed.push_back({.candidate = candidate, .mean = estimate.mean[candidate]});
  return this->estimate(assumed);
}

double CostSurface::difference_deviation(std::span<const MeasuredCost> costs,
                                         std::size_t a,
                                         std::size_t b) const {
  const std::size_t both[] = {a, b};
  return GaussianProcess(data_of(costs), scales_).difference_deviation(places_of(both));
}

double CostSurface::distance(std::size_t a, std::size_t b) const {
  return (places_.features.row(index_of(a)) - places_.features.row(index_of(b))).norm();
}

double CostSurface::predicted(std::size_t candidate) const {
  return predicted_[index_of(candidate)];
}

void CostSurface::set_predicted(std::span<const double> costs) {
  for (std::size_t i = 0; i < costs.size(); ++i)
    predicted_[index_of(i)] = costs[i];
  places_.trend = predicted_.array() - predicted_.mean();
}

}  // namespace forebay::model
