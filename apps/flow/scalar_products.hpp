// SPDX-License-Identifier: Apache-2.0
// Scalar products that are the same, bit for bit, on any number of ranks: one number for each part,
// added in rising order of parts by every rank.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "flow/part_set.hpp"
#include "flow/phase_times.hpp"
#include "flow/team.hpp"

namespace forebay::flow {

struct VectorPair {
  std::span<const double> left;
  std::span<const double> right;
};

/// References must outlive it.
class ScalarProducts {
 public:
  ScalarProducts(const PartSet& set, Team& team, PhaseTimes& times);

  /// Collective, with as many pairs on each rank. Each node counts once, where it is owned.
  std::vector<double> of(std::span<const VectorPair> pairs);
  double of(std::span<const double> left, std::span<const double> right) {
    const VectorPair pair{left, right};
    return of(std::span(&pair, 1)).front();
  }

 private:
  const PartSet& set_;
  Team& team_;
  PhaseTimes& times_;
  std::vector<std::size_t> place_of_part_;  // in what is gathered
};

}  // namespace forebay::flow
