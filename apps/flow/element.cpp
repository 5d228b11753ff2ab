// SPDX-License-Identifier: Apache-2.0
#include "flow/element.hpp"

#include <cmath>

namespace forebay::flow {

namespace {

Point subtract(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

double dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Parameter of the streamline stabilization: the usual mean of the limits that step, flow and
/// diffusion allow.
double stabilization_parameter(const ElementShape& shape,
                               const Point& velocity,
                               double diffusivity,
                               double step_length) {
  const double speed = std::sqrt(dot(velocity, velocity));
  if (speed == 0) return 0;
  // Edge length of a regular tetrahedron of this volume.
  const double length = std::cbrt(6 * std::sqrt(2.0) * shape.volume);
  const double by_step = 2 / step_length;
  const double by_flow = 2 * speed / length;
  const double by_diffusion = 12 * diffusivity / (length * length);
  return 1 / std::sqrt(by_step * by_step + by_flow * by_flow + by_diffusion * by_diffusion);
}

}  // namespace

ElementShape ElementShape::from_corners(const Corners& corners) {
  const Point a = subtract(corners[1], corners[0]);
  const Point b = subtract(corners[2], corners[0]);
  const Point c = subtract(corners[3], corners[0]);
  const double determinant = dot(a, cross(b, c));
  ElementShape shape;
  shape.volume = determinant / 6;
  const std::array<Point, 3> normals{cross(b, c), cross(c, a), cross(a, b)};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double sum = 0;
    for (std::size_t corner = 0; corner < 3; ++corner) {
      shape.gradients[corner + 1][axis] = normals[corner][axis] / determinant;
      sum += shape.gradients[corner + 1][axis];
    }
    shape.gradients[0][axis] = -sum;
  }
  return shape;
}

ElementMatrices assemble_element(const Corners& corners, const Problem& problem, TimeStep step) {
  const ElementShape shape = ElementShape::from_corners(corners);
  Point center{};
  for (const Point& corner : corners) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      center[axis] += corner[axis] / 4;
  }
  const Point velocity = problem.velocity(center, step.time);
  const double diffusivity = problem.diffusivity();
  const double tau = stabilization_parameter(shape, velocity, diffusivity, step.step_length);
  std::array<double, 4> along{};
  for (std::size_t i = 0; i < 4; ++i)
    along[i] = dot(velocity, shape.gradients[i]);
  ElementMatrices matrices;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      const double mass = shape.volume / 20 * (i == j ? 2 : 1);
      const double spread = diffusivity * dot(shape.gradients[i], shape.gradients[j]);
      matrices.mass[i][j] = mass + tau * along[i] * shape.volume / 4;
      matrices.system[i][j] = matrices.mass[i][j] / step.step_length + shape.volume / 4 * along[j] +
                              shape.volume * (tau * along[i] * along[j] + spread);
    }
  }
  return matrices;
}

}  // namespace forebay::flow
