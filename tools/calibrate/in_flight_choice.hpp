// SPDX-License-Identifier: Apache-2.0
// Which number of bytes under way a calibration chooses, from what each of them reached: a pure
// function, so that it is tested with curves of every shape and noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::calibrate {

/// Who is within this of the best is as good: less under way waits less.
inline constexpr double kAsGoodAs = 0.98;

/// What was reached with so many bytes under way, in each round.
struct InFlightPoint {
  std::uint64_t in_flight_bytes = 0;
  std::vector<double> bytes_per_second;
};

struct InFlightChoice {
  std::size_t place = 0;  ///< of the chosen one among the points
  /// What each point reached, the best one 1. Storage is faster in one round than in the next, for
  /// all points alike: so each is compared with the others of its round, and the median counts.
  std::vector<double> shares;
  /// How far these were from their medians, in the middle: with more than 1 - kAsGoodAs others were
  /// at work, and another time may choose a neighbour.
  double noise = 0;
};

/// Chooses the fewest bytes that are as good as the best. `points` are in rising order and not
/// empty; all have as many rounds, at least one. Pure.
InFlightChoice choose_in_flight(const std::vector<InFlightPoint>& points);

}  // namespace forebay::calibrate
