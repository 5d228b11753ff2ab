// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/in_flight_choice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/calibrate/fit.hpp"

namespace forebay::calibrate {

namespace {

double median_of(std::vector<double> values) { return summarise(std::move(values)).median; }

/// What the points reached in each round, in the middle.
std::vector<double> middles_of(const std::vector<InFlightPoint>& points) {
  std::vector<double> middles;
  for (std::size_t round = 0; round < points.front().bytes_per_second.size(); ++round) {
    std::vector<double> rates;
    for (const InFlightPoint& point : points)
      rates.push_back(point.bytes_per_second.at(round));
    middles.push_back(median_of(std::move(rates)));
  }
  return middles;
}

/// A point's rates as parts of `middles`.
std::vector<double> parts_of(const InFlightPoint& point, const std::vector<double>& middles) {
  std::vector<double> parts;
  for (std::size_t round = 0; round < middles.size(); ++round)
    parts.push_back(point.bytes_per_second.at(round) / middles[round]);
  return parts;
}

/// The median distance from the median, as a part of it.
double noise_of(std::vector<double> parts) {
  const double median = median_of(parts);
  for (double& part : parts)
    part = std::abs(part / median - 1);
  return median_of(std::move(parts));
}

}  // namespace

InFlightChoice choose_in_flight(const std::vector<InFlightPoint>& points) {
  const std::vector<double> middles = middles_of(points);
  InFlightChoice choice;
  std::vector<double> noises;
  for (const InFlightPoint& point : points) {
    std::vector<double> parts = parts_of(point, middles);
    choice.shares.push_back(median_of(parts));
    noises.push_back(noise_of(std::move(parts)));
  }
  const double best = *std::ranges::max_element(choice.shares);
  for (double& share : choice.shares)
    share /= best;
  const auto first =
      std::ranges::find_if(choice.shares, [](double share) { return share >= kAsGoodAs; });
  choice.place = static_cast<std::size_t>(first - choice.shares.begin());
  choice.noise = median_of(std::move(noises));
  return choice;
}

}  // namespace forebay::calibrate
