// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/in_flight_choice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/calibrate/fit.hpp"

namespace forebay::calibrate {

namespace {

double median_of(std::vector<double> values) { return summarize(std::move(values)).median; }

/// For each round, the median over the points.
std::vector<double> round_medians(const std::vector<InFlightPoint>& points) {
  std::vector<double> medians;
  for (std::size_t round = 0; round < points.front().bytes_per_second.size(); ++round) {
    std::vector<double> rates;
    for (const InFlightPoint& point : points)
      rates.push_back(point.bytes_per_second.at(round));
    medians.push_back(median_of(std::move(rates)));
  }
  return medians;
}

/// A point's rates relative to `medians`.
std::vector<double> relative_rates(const InFlightPoint& point, const std::vector<double>& medians) {
  std::vector<double> relative;
  for (std::size_t round = 0; round < medians.size(); ++round)
    relative.push_back(point.bytes_per_second.at(round) / medians[round]);
  return relative;
}

/// The median absolute deviation, relative to the median.
double noise_of(std::vector<double> relative) {
  const double median = median_of(relative);
  for (double& part : relative)
    part = std::abs(part / median - 1);
  return median_of(std::move(relative));
}

}  // namespace

InFlightChoice choose_in_flight(const std::vector<InFlightPoint>& points) {
  const std::vector<double> medians = round_medians(points);
  InFlightChoice choice;
  std::vector<double> noises;
  for (const InFlightPoint& point : points) {
    std::vector<double> relative = relative_rates(point, medians);
    choice.shares.push_back(median_of(relative));
    noises.push_back(noise_of(std::move(relative)));
  }
  const double best = *std::ranges::max_element(choice.shares);
  for (double& share : choice.shares)
    share /= best;
  const auto first =
      std::ranges::find_if(choice.shares, [](double share) { return share >= kToleranceFraction; });
  choice.index = static_cast<std::size_t>(first - choice.shares.begin());
  choice.noise = median_of(std::move(noises));
  return choice;
}

}  // namespace forebay::calibrate
