// SPDX-License-Identifier: Apache-2.0
#include "push/linear_system.hpp"

#include <limits>
#include <utility>

#include <gtest/gtest.h>

namespace forebay::push {
namespace {

LinearSystem::Form form(std::int64_t constant,
                        std::vector<std::pair<std::size_t, std::int64_t>> terms) {
  LinearSystem::Form result = {};
  result[0] = constant;
  for (const auto& [unknown, factor] : terms)
    result[unknown] = factor;
  return result;
}

TEST(LinearSystem, sum_is_known_before_its_terms) {
  LinearSystem system;
  EXPECT_TRUE(system.add(form(-12, {{1, 1}, {2, 2}})));
  EXPECT_EQ(system.value_of(form(5, {{1, 2}, {2, 4}})), 29);
  EXPECT_EQ(system.value_of(form(0, {{1, 1}})), std::nullopt);
  EXPECT_TRUE(system.add(form(-3, {{1, 1}, {2, -1}})));
  EXPECT_EQ(system.value_of(form(0, {{1, 1}})), 6);
  EXPECT_EQ(system.value_of(form(0, {{2, 1}})), 3);
  EXPECT_EQ(system.rank(), 2U);
}

TEST(LinearSystem, contradiction_is_refused_and_adds_nothing) {
  LinearSystem system;
  EXPECT_TRUE(system.add(form(-4, {{3, 2}})));
  EXPECT_FALSE(system.add(form(-5, {{3, 2}})));
  EXPECT_TRUE(system.add(form(-2, {{3, 1}})));
  EXPECT_EQ(system.rank(), 1U);
  EXPECT_FALSE(system.add(form(1, {})));
}

TEST(LinearSystem, fraction_has_no_value) {
  LinearSystem system;
  EXPECT_TRUE(system.add(form(-5, {{1, 2}})));
  EXPECT_EQ(system.value_of(form(0, {{1, 1}})), std::nullopt);
  EXPECT_EQ(system.value_of(form(0, {{1, -4}})), -10);
}

TEST(LinearSystem, value_beyond_64_bits_is_unknown) {
  LinearSystem system;
  EXPECT_TRUE(system.add(form(-std::numeric_limits<std::int64_t>::max(), {{1, 1}})));
  EXPECT_EQ(system.value_of(form(0, {{1, 2}})), std::nullopt);
  EXPECT_EQ(system.value_of(form(0, {{1, 1}})), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace forebay::push
