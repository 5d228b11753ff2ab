// SPDX-License-Identifier: Apache-2.0
// One linear tetrahedron: what it adds to matrix and load. Pure arithmetic.
#pragma once

#include <array>

#include "flow/part.hpp"
#include "flow/problem.hpp"

namespace forebay::flow {

using Corners = std::array<Point, 4>;
using Square = std::array<std::array<double, 4>, 4>;

/// Gradients of the four linear functions that are 1 at one corner and 0 at the others.
struct ElementShape {
  std::array<Point, 4> gradients{};
  double volume = 0;  ///< negative where the corners are in the other order

  static ElementShape of(const Corners& corners);
};

/// A step of implicit Euler: mass * (f + u / step) is the load, with u of the step before.
struct ElementMatrices {
  Square system{};
  Square mass{};  ///< with streamline stabilisation, so it is not symmetric where there is flow
};

struct StepFacts {
  double time = 0;  ///< at its end
  double step_length = 0;
};

ElementMatrices form_element(const Corners& corners, const Problem& problem, StepFacts step);

}  // namespace forebay::flow
