// SPDX-License-Identifier: Apache-2.0
#include "flow/problem.hpp"

#include <algorithm>
#include <cmath>

#include "flow/mesh.hpp"

namespace forebay::flow {

namespace {

/// 1 in the middle of the tube, less with the distance.
double bump(const Point& place, const Point& middle, double width) {
  double square = 0;
  for (std::size_t axis = 0; axis < place.size(); ++axis) {
    const double distance = (place[axis] - middle[axis]) / width;
    square += distance * distance;
  }
  return 1 / (1 + square);
}

/// Relative speed in a full tube: 1 in the middle, 0 at the wall of the narrow tube.
double profile(const Point& place) {
  const double square = place[0] * place[0] + place[1] * place[1];
  return std::max(0.0, 1 - square / (kTubeRadius * kTubeRadius));
}

/// Approximates a sine of period 1 by two parabolas: the same on every machine.
double wave(double time) {
  const double phase = time - std::floor(time);
  return phase < 0.5 ? 16 * phase * (0.5 - phase) : -16 * (phase - 0.5) * (1 - phase);
}

class Diffusion final : public Problem {
 public:
  Symmetry symmetry() const override { return Symmetry::kSymmetric; }
  double diffusivity() const override { return 0.05; }
  Point velocity(const Point&, double) const override { return {}; }
  double source(const Point& place, double) const override {
    return bump(place, {0, 0, kTubeLength / 2}, 0.2);
  }
  double initial_value(const Point&) const override { return 0; }
  bool is_dirichlet(BoundaryMarker mark) const override {
    return mark != BoundaryMarker::kInterior;
  }
  double dirichlet_value(const Point&, double) const override { return 0; }
};

class Advection final : public Problem {
 public:
  Symmetry symmetry() const override { return Symmetry::kGeneral; }
  double diffusivity() const override { return 0.005; }
  Point velocity(const Point& place, double time) const override {
    const double along = profile(place) * (1 + 0.5 * wave(time));
    const double turning = 0.5 * profile(place);
    return {-turning * place[1], turning * place[0], along};
  }
  double source(const Point&, double) const override { return 0; }
  double initial_value(const Point& place) const override {
    return profile(place) * bump(place, {0, 0, kTubeLength / 4}, 0.3);
  }
  /// The outlet is free: values leave the tube.
  bool is_dirichlet(BoundaryMarker mark) const override {
    return mark == BoundaryMarker::kInlet || mark == BoundaryMarker::kWall;
  }
  double dirichlet_value(const Point& place, double time) const override {
    return place[2] > 0 ? 0 : profile(place) * (1 + 0.5 * wave(2 * time));
  }
};

}  // namespace

std::string_view name_of(ProblemKind kind) {
  return kind == ProblemKind::kDiffusion ? "diffusion" : "advection";
}

std::unique_ptr<Problem> make_problem(ProblemKind kind) {
  if (kind == ProblemKind::kDiffusion) return std::make_unique<Diffusion>();
  return std::make_unique<Advection>();
}

}  // namespace forebay::flow
