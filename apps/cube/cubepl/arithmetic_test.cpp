// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/arithmetic.hpp"

#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::cubepl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double apply_one(Op op, double a) {
  Scratch scratch;
  return apply(op, Lanes(a), 1, scratch).number();
}
double apply_two(Op op, double a, double b) {
  Scratch scratch;
  return apply(op, Lanes(a), Lanes(b), 1, scratch).number();
}

TEST(Arithmetic, division_by_zero_gives_largest_number_or_zero) {
  EXPECT_EQ(apply_two(Op::kDivide, 6, 4), 1.5);
  EXPECT_EQ(apply_two(Op::kDivide, 1, 0), DBL_MAX);
  EXPECT_EQ(apply_two(Op::kDivide, -1, 0), -DBL_MAX);
  EXPECT_EQ(apply_two(Op::kDivide, 0, 0), 0);
}

TEST(Arithmetic, product_with_zero_is_zero_and_none_is_infinite) {
  EXPECT_EQ(apply_two(Op::kMultiply, 0, kInfinity), 0);
  EXPECT_EQ(apply_two(Op::kMultiply, 0, std::nan("")), 0);
  EXPECT_EQ(apply_two(Op::kMultiply, 1e200, 1e200), DBL_MAX);
  EXPECT_EQ(apply_two(Op::kMultiply, -1e200, 1e200), -DBL_MAX);
  EXPECT_TRUE(std::isnan(apply_two(Op::kMultiply, kInfinity, 0)));
}

TEST(Arithmetic, roots_and_logarithms_are_finite_everywhere) {
  EXPECT_EQ(apply_one(Op::kSquareRoot, 16), 4);
  EXPECT_EQ(apply_one(Op::kSquareRoot, -1), 0);
  EXPECT_EQ(apply_one(Op::kLogarithm, 1), 0);
  EXPECT_EQ(apply_one(Op::kLogarithm, 0), -DBL_MAX);
  EXPECT_EQ(apply_one(Op::kLogarithm, -2), 0);
}

TEST(Arithmetic, sign_functions_return_documented_values) {
  EXPECT_EQ(apply_one(Op::kSign, -3), -1);
  EXPECT_EQ(apply_one(Op::kSign, 0), 0);
  EXPECT_EQ(apply_one(Op::kSign, 0.1), 1);
  EXPECT_EQ(apply_one(Op::kPositive, -3), 0);
  EXPECT_EQ(apply_one(Op::kPositive, 3), 3);
  EXPECT_EQ(apply_one(Op::kNegative, -3), -3);
  EXPECT_EQ(apply_one(Op::kNegative, 3), 0);
}

TEST(Arithmetic, truth_is_one_or_zero) {
  EXPECT_EQ(apply_two(Op::kAnd, 2, 3), 1);
  EXPECT_EQ(apply_two(Op::kXor, 2, 3), 0);
  EXPECT_EQ(apply_two(Op::kXor, 2, 0), 1);
  EXPECT_EQ(apply_one(Op::kNot, 5), 0);
}

TEST(Arithmetic, rows_equal_single_numbers) {
  const std::vector<double> values = {-2, -0.5, 0, 0.25, 1, 3, 1e200, -1e200, kInfinity};
  Scratch scratch;
  for (int op = static_cast<int>(Op::kAdd); op <= static_cast<int>(Op::kXor); ++op) {
    for (const double b : values) {
      const Lanes first = apply(Op{static_cast<std::uint8_t>(op)}, Lanes::view(values.data()),
                                Lanes(b), values.size(), scratch);
      const Lanes second = apply(Op{static_cast<std::uint8_t>(op)}, Lanes(b),
                                 Lanes::view(values.data()), values.size(), scratch);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double alone = apply_two(Op{static_cast<std::uint8_t>(op)}, values[i], b);
        const double turned = apply_two(Op{static_cast<std::uint8_t>(op)}, b, values[i]);
        EXPECT_TRUE(first[i] == alone || (std::isnan(first[i]) && std::isnan(alone))) << op;
        EXPECT_TRUE(second[i] == turned || (std::isnan(second[i]) && std::isnan(turned))) << op;
      }
    }
  }
}

TEST(Arithmetic, viewed_row_is_not_modified) {
  const std::vector<double> values = {1, 2, 3};
  Scratch scratch;
  const Lanes lanes = Lanes::view(values.data());
  const Lanes sum = apply(Op::kAdd, lanes.view(), lanes.view(), 3, scratch);
  EXPECT_EQ(sum[2], 6);
  EXPECT_EQ(values, (std::vector<double>{1, 2, 3}));
}

TEST(Arithmetic, parse_number_reads_leading_number) {
  EXPECT_EQ(parse_number("12.5 sec"), 12.5);
  EXPECT_EQ(parse_number("  -3"), -3);
  EXPECT_EQ(parse_number("+4"), 4);
  EXPECT_EQ(parse_number("1e3"), 1000);
  for (const char* const text : {"", "abc", "--1", "-", "inf", "nan", "-inf", "+-2"})
    EXPECT_LE(std::fabs(parse_number(text)), 2) << text;
  EXPECT_EQ(parse_number("inf"), 0);
  EXPECT_EQ(parse_number("abc"), 0);
}

TEST(Arithmetic, format_number_has_fourteen_digits) {
  EXPECT_EQ(format_number(3), "3");
  EXPECT_EQ(format_number(0.1), "0.1");
  EXPECT_EQ(format_number(1.0 / 3), "0.33333333333333");
  EXPECT_EQ(format_number(1e20), "1e+20");
}

}  // namespace
}  // namespace forebay::cubepl
