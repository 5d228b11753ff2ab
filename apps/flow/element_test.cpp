// SPDX-License-Identifier: Apache-2.0
#include "flow/element.hpp"

#include <random>

#include <gtest/gtest.h>

namespace forebay::flow {
namespace {

/// A problem with constant coefficients.
class ConstantProblem final : public Problem {
 public:
  explicit ConstantProblem(const Point& velocity) : velocity_(velocity) {}
  Symmetry symmetry() const override { return Symmetry::kGeneral; }
  double diffusivity() const override { return 0.3; }
  Point velocity(const Point&, double) const override { return velocity_; }
  double source(const Point&, double) const override { return 0; }
  double initial_value(const Point&) const override { return 0; }
  bool is_dirichlet(BoundaryMarker) const override { return false; }
  double dirichlet_value(const Point&, double) const override { return 0; }

 private:
  Point velocity_;
};

const Corners kCorners{{{0.1, 0.2, 0}, {1.3, 0, 0.2}, {0, 0.9, 0.1}, {0.2, 0.3, 1.4}}};

TEST(Element, gradients_reproduce_a_linear_function) {
  const ElementShape shape = ElementShape::from_corners(kCorners);
  const Point slope{2, -3, 5};
  Point found{};
  for (std::size_t corner = 0; corner < 4; ++corner) {
    double value = 7;
    for (std::size_t axis = 0; axis < 3; ++axis)
      value += slope[axis] * kCorners[corner][axis];
    for (std::size_t axis = 0; axis < 3; ++axis)
      found[axis] += value * shape.gradients[corner][axis];
  }
  for (std::size_t axis = 0; axis < 3; ++axis)
    EXPECT_NEAR(found[axis], slope[axis], 1e-12);
}

TEST(Element, matrix_without_flow_is_exactly_symmetric) {
  const ElementMatrices matrices = assemble_element(kCorners, ConstantProblem({0, 0, 0}), {0, 0.1});
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(matrices.system[i][j], matrices.system[j][i]);
      EXPECT_EQ(matrices.mass[i][j], matrices.mass[j][i]);
    }
  }
}

TEST(Element, mass_sums_to_volume_and_constant_is_preserved) {
  const ElementMatrices matrices = assemble_element(kCorners, ConstantProblem({1, 2, 3}), {0, 0.1});
  double mass = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double row = 0;
    double row_of_mass = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      row += matrices.system[i][j];
      row_of_mass += matrices.mass[i][j];
    }
    EXPECT_NEAR(row, row_of_mass / 0.1, 1e-10);
    mass += row_of_mass;
  }
  EXPECT_NEAR(mass, ElementShape::from_corners(kCorners).volume, 1e-12);
}

TEST(Element, opposite_corner_order_has_negative_volume) {
  Corners turned = kCorners;
  std::swap(turned[0], turned[1]);
  EXPECT_DOUBLE_EQ(ElementShape::from_corners(turned).volume,
                   -ElementShape::from_corners(kCorners).volume);
}

}  // namespace
}  // namespace forebay::flow
