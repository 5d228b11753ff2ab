// SPDX-License-Identifier: Apache-2.0
#include "cube/compare_rows.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<ValueDifference> compare(double a, double b, const Tolerance& tolerance) {
  const ValueType type{ValueKind::kDouble, 1};
  return compare_values({type, type}, tolerance, std::as_bytes(std::span(&a, 1)),
                        std::as_bytes(std::span(&b, 1)));
}

TEST(CompareRows, both_tolerances_add_up) {
  EXPECT_FALSE(compare(10, 11.5, {.absolute = 0.5, .relative = 0.1}));
  EXPECT_TRUE(compare(10, 11.5, {.absolute = 0.5}));
  EXPECT_TRUE(compare(10, 11.5, {.relative = 0.1}));
}

TEST(CompareRows, non_finite_value_exceeds_any_tolerance) {
  for (const double other : {1.0, -kInfinity, std::nan("")}) {
    const auto found = compare(kInfinity, other, {.absolute = 1e300, .relative = 0.5});
    ASSERT_TRUE(found) << other;
    EXPECT_EQ(found->absolute, kInfinity) << other;
    EXPECT_EQ(found->relative, kInfinity) << other;
  }
}

TEST(CompareRows, equal_non_finite_values_match) {
  EXPECT_FALSE(compare(kInfinity, kInfinity, {}));
  EXPECT_FALSE(compare(std::nan(""), -std::nan(""), {}));
}

}  // namespace
}  // namespace forebay::cube
