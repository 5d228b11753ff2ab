// SPDX-License-Identifier: Apache-2.0
// Contributions of one linear tetrahedron to matrix and load. Pure arithmetic.
#pragma once

#include <array>

#include "flow/mesh_part.hpp"
#include "flow/problem.hpp"

namespace forebay::flow {

using Corners = std::array<Point, 4>;
using Matrix4 = std::array<std::array<double, 4>, 4>;

/// Gradients of the four linear functions that are 1 at one corner and 0 at the others.
struct ElementShape {
  std::array<Point, 4> gradients{};
  double volume = 0;  ///< negative if the corners are in the opposite order

  static ElementShape from_corners(const Corners& corners);
};

/// An implicit Euler step: the load is mass * (f + u / step), with u of the previous step.
struct ElementMatrices {
  Matrix4 system{};
  Matrix4 mass{};  ///< with streamline stabilization, so it is not symmetric where the flow is not
                   ///< zero
};

struct TimeStep {
  double time = 0;  ///< at the end of the step
  double step_length = 0;
};

ElementMatrices assemble_element(const Corners& corners, const Problem& problem, TimeStep step);

}  // namespace forebay::flow
