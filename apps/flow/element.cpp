// SPDX-License-Identifier: Apache-2.0
#include "flow/element.hpp"

#include <cmath>

namespace forebay::flow {

namespace {

Point minus(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

double product(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// How far the test functions lean into the flow: the usual mean of what step, flow and
/// diffusion allow.
double streamline_time(const ElementShape& shape,
                       const Point& velocity,
                       double diffusivity,
                       double step_length) {
  const double speed = std::sqrt(product(velocity, velocity));
  if (speed == 0) return 0;
  // The edge of a regular tetrahedron of this volume.
  const double length = std::cbrt(6 * std::sqrt(2.0) * shape.volume);
  const double by_step = 2 / step_length;
  const double by_flow = 2 * speed / length;
  const double by_diffusion = 12 * diffusivity / (length * length);
  return 1 / std::sqrt(by_step * by_step + by_flow * by_flow + by_diffusion * by_diffusion);
}

}  // namespace

ElementShape ElementShape::of(const Corners& corners) {
  const Point a = minus(corners[1], corners[0]);
  const Point b = minus(corners[2], corners[0]);
  const Point c = minus(corners[3], corners[0]);
  const double determinant = product(a, cross(b, c));
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

ElementMatrices form_element(const Corners& corners, const Problem& problem, StepFacts step) {
  const ElementShape shape = ElementShape::of(corners);
  Point centre{};
  for (const Point& corner : corners) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      centre[axis] += corner[axis] / 4;
  }
  const Point velocity = problem.velocity(centre, step.time);
  const double diffusivity = problem.diffusivity();
  const double leaning = streamline_time(shape, velocity, diffusivity, step.step_length);
  std::array<double, 4> along{};
  for (std::size_t i = 0; i < 4; ++i)
    along[i] = product(velocity, shape.gradients[i]);
  ElementMatrices formed;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      const double mass = shape.volume / 20 * (i == j ? 2 : 1);
      const double spread = diffusivity * product(shape.gradients[i], shape.gradients[j]);
      formed.mass[i][j] = mass + leaning * along[i] * shape.volume / 4;
      formed.system[i][j] = formed.mass[i][j] / step.step_length + shape.volume / 4 * along[j] +
                            shape.volume * (leaning * along[i] * along[j] + spread);
    }
  }
  return formed;
}

}  // namespace forebay::flow
