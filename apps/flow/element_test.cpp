// SPDX-License-Identifier: Apache-2.0
#include "flow/element.hpp"

#include <random>

#include <gtest/gtest.h>

namespace forebay::flow {
namespace {

/// Constant coefficients.
class Plain final : public Problem {
 public:
  explicit Plain(const Point& velocity) : velocity_(velocity) {}
  Symmetry symmetry() const override { return Symmetry::kGeneral; }
  double diffusivity() const override { return 0.3; }
  Point velocity(const Point&, double) const override { return velocity_; }
  double source(const Point&, double) const override { return 0; }
  double initial(const Point&) const override { return 0; }
  bool is_fixed(Mark) const override { return false; }
  double fixed_value(const Point&, double) const override { return 0; }

 private:
  Point velocity_;
};

const Corners kCorners{{{0.1, 0.2, 0}, {1.3, 0, 0.2}, {0, 0.9, 0.1}, {0.2, 0.3, 1.4}}};

TEST(Element, gradients_reproduce_a_linear_function) {
  const ElementShape shape = ElementShape::of(kCorners);
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

TEST(Element, without_flow_the_matrix_is_symmetric_to_the_bit) {
  const ElementMatrices formed = form_element(kCorners, Plain({0, 0, 0}), {0, 0.1});
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(formed.system[i][j], formed.system[j][i]);
      EXPECT_EQ(formed.mass[i][j], formed.mass[j][i]);
    }
  }
}

TEST(Element, mass_adds_up_to_the_volume_and_a_constant_does_not_change) {
  const ElementMatrices formed = form_element(kCorners, Plain({1, 2, 3}), {0, 0.1});
  double mass = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double row = 0;
    double row_of_mass = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      row += formed.system[i][j];
      row_of_mass += formed.mass[i][j];
    }
    EXPECT_NEAR(row, row_of_mass / 0.1, 1e-10);
    mass += row_of_mass;
  }
  EXPECT_NEAR(mass, ElementShape::of(kCorners).volume, 1e-12);
}

TEST(Element, other_order_of_corners_has_the_negative_volume) {
  Corners turned = kCorners;
  std::swap(turned[0], turned[1]);
  EXPECT_DOUBLE_EQ(ElementShape::of(turned).volume, -ElementShape::of(kCorners).volume);
}

}  // namespace
}  // namespace forebay::flow
