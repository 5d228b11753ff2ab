// SPDX-License-Identifier: Apache-2.0
// Chooses the bytes in flight of a calibration from the rates of each value. A pure function, so it
// is tested with curves of any shape and noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::calibrate {

/// A rate within this fraction of the best is as good: fewer bytes in flight mean shorter waits.
inline constexpr double kToleranceFraction = 0.98;

/// The rate with these bytes in flight, in each round.
struct InFlightPoint {
  std::uint64_t in_flight_bytes = 0;
  std::vector<double> bytes_per_second;
};

struct InFlightChoice {
  std::size_t index = 0;  ///< of the chosen point
  /// The rate of each point relative to the best. All points of a round are fast or slow alike. So
  /// each is compared with the others of its round, and the median counts.
  std::vector<double> shares;
  /// Median deviation of the relative rates. Above 1 - kToleranceFraction other programs were
  /// active, and another calibration may choose an adjacent point.
  double noise = 0;
};

/// Chooses the fewest bytes that are as good as the best. `points` are ascending and not empty; all
/// have the same number of rounds, at least one. Pure.
InFlightChoice choose_in_flight(const std::vector<InFlightPoint>& points);

}  // namespace forebay::calibrate
