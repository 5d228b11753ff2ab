// SPDX-License-Identifier: Apache-2.0
// Scalar products with the same bits on any number of ranks. Each part contributes one number;
// every rank adds these in ascending order of parts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "flow/part_set.hpp"
#include "flow/phase_times.hpp"
#include "flow/solver_comm.hpp"

namespace forebay::flow {

struct VectorPair {
  std::span<const double> left;
  std::span<const double> right;
};

/// References must outlive it.
class ScalarProducts {
 public:
  ScalarProducts(const PartSet& set, SolverComm& comm, PhaseTimes& times);

  /// Collective, with the same number of pairs on each rank. Each node counts once, in the part
  /// that owns it.
  std::vector<double> compute(std::span<const VectorPair> pairs);
  double compute(std::span<const double> left, std::span<const double> right) {
    const VectorPair pair{left, right};
    return compute(std::span(&pair, 1)).front();
  }

 private:
  const PartSet& set_;
  SolverComm& comm_;
  PhaseTimes& times_;
  std::vector<std::size_t> gathered_index_;  // position of each part's number among the gathered
                                             // ones
};

}  // namespace forebay::flow
