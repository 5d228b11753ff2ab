// SPDX-License-Identifier: Apache-2.0
#include "push/parametric_signature.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::push {
namespace {

using Kind = ParametricNode::Kind;

TEST(ParametricSignature, names_products_and_variables_are_separate) {
  const auto parsed =
      parse_parametric_signature("read {n x {m_2 x (start + 8 n m_2 i - 4096 j, size)}}, (0, 16)",
                                 {"n", "m_2", "start", "size"});
  ASSERT_TRUE(parsed) << parsed.error().message();
  ASSERT_EQ(parsed->nodes.size(), 6U);
  EXPECT_EQ(parsed->nodes[0].kind, Kind::kLoop);
  EXPECT_EQ(parsed->nodes[0].partner, 4U);
  EXPECT_EQ(parsed->nodes[3].partner, 1U);
  const ParametricNumber& offset = parsed->nodes[2].offset;
  ASSERT_EQ(offset.size(), 3U);
  EXPECT_EQ(parsed->products[offset[1].product], (Product{0, 1}));
  EXPECT_EQ(offset[1].factor, 8);
  EXPECT_EQ(offset[1].depth, 0);
  EXPECT_EQ(offset[2].factor, -4096);
  EXPECT_EQ(offset[2].depth, 1);
  EXPECT_EQ(offset[2].product, 0);
  EXPECT_EQ(parsed->nodes[5].size[0].factor, 16);
}

TEST(ParametricSignature, name_of_a_variable_means_the_variable_inside_of_its_loop) {
  const auto parsed = parse_parametric_signature("read {i x (i, 8)}", {"i"});
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->nodes[0].count[0].depth, ParametricTerm::kNoVariable);
  EXPECT_EQ(parsed->nodes[1].offset[0].depth, 0);
}

TEST(ParametricSignature, name_may_begin_with_x) {
  EXPECT_TRUE(parse_parametric_signature("read {x_n x (8 x2 i, 8)}", {"x_n", "x2"}));
}

struct BadSignature {
  std::string text;
  std::string cause;  ///< part of it
};

class ParametricSignatureErrors : public ::testing::TestWithParam<BadSignature> {};

TEST_P(ParametricSignatureErrors, error_names_place_and_expectation) {
  const auto parsed = parse_parametric_signature(GetParam().text, {"n", "m"});
  ASSERT_EQ(error_class(parsed), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(parsed.error(), GetParam().cause)) << parsed.error().message();
}

std::string repeated(std::size_t count, const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    All,
    ParametricSignatureErrors,
    ::testing::Values(BadSignature{"write (n, 1)", "column 1: expected \"read\""},
                      BadSignature{"read [1 2]", "expected \"(\" or \"{\""},
                      BadSignature{"read (k, 1)",
                                   "column 7: \"k\" is neither a variable of the loops around"},
                      BadSignature{"read {n x (i j, 1)}", "\"j\" is neither"},
                      BadSignature{"read {n x {m x (i j, 1)}}", "a term has at most one variable"},
                      BadSignature{"read {n (0, 1)}", "expected \"x\""},
                      BadSignature{"read (n + , 1)", "a number, a parameter or a variable"},
                      BadSignature{"read (0, 1) 2", "the end of the text"},
                      BadSignature{"read " + repeated(9, "{n x ") + "(0, 1)", "at most 8 loops"},
                      BadSignature{"read (0, 1)" + repeated(64, ", (0, 1)"), "at most 64 items"},
                      BadSignature{"read (9223372036854775808, 1)", "up to 2^63 - 1"}));

TEST(ParametricSignature, invalid_parameters_are_refused) {
  for (const std::string name : {"", "x", "after", "2n", "a b", "_n"})
    EXPECT_EQ(error_class(parse_parametric_signature("read (0, 1)", {name})),
              ErrorClass::kInvalidArgument)
        << name;
  EXPECT_FALSE(parse_parametric_signature("read (0, 1)", {"n", "n"}));
  EXPECT_FALSE(parse_parametric_signature("read (0, 1)", std::vector<std::string>(17, "n")));
}

TEST(ParametricSignature, more_than_24_products_are_refused) {
  std::string sum = "n";
  std::string product = "n";
  for (int i = 0; i < 4; ++i) {
    product += " n";
    for (const std::string tail : {"", " m", " m m", " m m m", " m m m m", " m m m m m"})
      if (product.size() + tail.size() < 15) sum += " + " + product + tail;
  }
  EXPECT_TRUE(parse_parametric_signature("read (" + sum + ", 1)", {"n", "m"}));
  sum += " + m m + m m m + m m m m + m m m m m + m m m m m m + n m + n m m + n m m m";
  EXPECT_FALSE(parse_parametric_signature("read (" + sum + ", 1)", {"n", "m"}));
}

}  // namespace
}  // namespace forebay::push
