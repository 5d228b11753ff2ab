// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/expression.hpp"

#include <gtest/gtest.h>

#include "tools/kernel/kernel_plan.hpp"

namespace forebay::kernel {
namespace {

/// The value of an expression on rank 7 of 12 in step 3, as the offset of a call.
std::uint64_t value_of(const std::string& expression) {
  const nlohmann::json constant = {
      {"family", "constant"}, {"drawn", "step"}, {"parameters", {1.0}}};
  const nlohmann::json document = {
      {"name", "test"},
      {"writers", 12},
      {"steps", 5},
      {"seed", 1},
      {"compute_s", constant},
      {"names", nlohmann::json::array({nlohmann::json{{"name", "v"}, {"expression", expression}}})},
      {"operations",
       {{{"name", "a"},
         {"do", "write"},
         {"when", "each"},
         {"every", 1},
         {"ranks", {0, 12, 1}},
         {"unit_bytes", 8},
         {"calls", constant},
         {"offsets", "write (1000 + v, 8)"}}}}};
  const auto plan = KernelPlan::parse(document);
  if (!plan) ADD_FAILURE() << plan.error().message();
  fk_calls calls{};
  EXPECT_EQ(fk_make_calls(&plan->kernel(), 0, 7, 3, &calls), 0);
  EXPECT_EQ(calls.count, 1U);
  const std::uint64_t offset = calls.count > 0 ? calls.calls[0].offset : 0;
  fk_free_calls(&calls);
  return offset - 1000;
}

TEST(Expression, operators_have_the_usual_precedence) {
  EXPECT_EQ(value_of("2 + 3 * 4"), 14U);
  EXPECT_EQ(value_of("(2 + 3) * 4"), 20U);
  EXPECT_EQ(value_of("20 - 5 - 3"), 12U);
  EXPECT_EQ(value_of("17 / 5 % 2"), 1U);
}

TEST(Expression, names_are_those_of_the_rank) {
  EXPECT_EQ(value_of("rank"), 7U);
  EXPECT_EQ(value_of("writers - rank"), 5U);
  EXPECT_EQ(value_of("step * 10 + rank % 4"), 33U);
}

TEST(Expression, division_rounds_down_and_by_zero_is_zero) {
  EXPECT_EQ(value_of("10 + (3 - rank) / 3"), 8U);
  EXPECT_EQ(value_of("10 + (3 - rank) % 3"), 12U);
  EXPECT_EQ(value_of("rank / (rank - 7)"), 0U);
}

TEST(Expression, wrong_text_is_refused_with_its_column) {
  const std::vector<std::string> names = {"rank"};
  for (const auto& [text, column] : {std::pair{"", "column 1"},
                                     {"rank +", "column 7"},
                                     {"rnak", "column 1"},
                                     {"(rank", "column 6"},
                                     {"rank rank", "column 6"},
                                     {"2 ** 3", "column 4"},
                                     {"99999999999999999999", "column 1"}}) {
    const auto parsed = parse_expression(text, names);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message().find(column), std::string::npos) << parsed.error().message();
  }
}

TEST(Expression, deep_brackets_are_refused) {
  EXPECT_FALSE(parse_expression(std::string(1000, '('), {}));
  std::string chain = "1";
  for (int i = 0; i < 40; ++i)
    chain = "1 - (" + chain + ")";
  EXPECT_FALSE(parse_expression(chain, {}));
}

}  // namespace
}  // namespace forebay::kernel
