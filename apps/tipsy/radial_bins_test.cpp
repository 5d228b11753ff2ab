// SPDX-License-Identifier: Apache-2.0
#include "tipsy/radial_bins.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace forebay::tipsy {
namespace {

/// The contract of bin_of(), without a table.
std::size_t bin_by_search(const RadialBins& shells, double radius_squared) {
  const auto square = [](double x) { return x * x; };
  if (radius_squared < square(shells.inner_edge(0))) return 0;
  for (std::size_t i = 0; i < shells.count(); ++i) {
    if (radius_squared < square(shells.outer_edge(i))) return i + 1;
  }
  return shells.count() + 1;
}

TEST(RadialBins, every_radius_is_in_the_bin_of_a_plain_search) {
  std::mt19937_64 random(11);
  for (const auto& [inner, outer, count] : {std::tuple{0.1, 30.0, 50},
                                            {1e-8, 1e8, 50},
                                            {1.0, 1.001, 50},
                                            {3.0, 4.0, 1},
                                            {0.5, 64.0, 1000},
                                            {1e-100, 1e100, 7}}) {
    const RadialBins shells(inner, outer, static_cast<std::size_t>(count));
    std::uniform_real_distribution<double> exponent(2 * std::log10(inner) - 0.5,
                                                    2 * std::log10(outer) + 0.5);
    for (int i = 0; i < 20000; ++i) {
      const double radius_squared = std::pow(10.0, exponent(random));
      ASSERT_EQ(shells.bin_of(radius_squared), bin_by_search(shells, radius_squared));
    }
  }
}

TEST(RadialBins, edges_belong_to_the_shell_outside_them) {
  const RadialBins shells(1, 100, 2);
  EXPECT_EQ(shells.bin_of(1), 1U);
  EXPECT_EQ(shells.bin_of(std::nextafter(1, 0)), 0U);
  const double middle = shells.outer_edge(0);
  EXPECT_NEAR(middle, 10, 1e-12);
  EXPECT_EQ(shells.bin_of(middle * middle), 2U);
  EXPECT_EQ(shells.bin_of(10000), 3U);
  EXPECT_EQ(shells.outer_edge(1), 100);
}

TEST(RadialBins, invalid_radius_is_inside_or_outside) {
  const RadialBins shells(1, 100, 2);
  EXPECT_EQ(shells.bin_of(0), 0U);
  EXPECT_EQ(shells.bin_of(std::numeric_limits<double>::infinity()), 3U);
  EXPECT_EQ(shells.bin_of(std::numeric_limits<double>::quiet_NaN()), 3U);
}

}  // namespace
}  // namespace forebay::tipsy
