// SPDX-License-Identifier: Apache-2.0
// Compares statistics of the generator with the theory of the Plummer sphere. Seeds are fixed, so a
// tolerance of five standard errors always holds or never.
#include "tipsy/plummer.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::tipsy {
namespace {

constexpr std::size_t kCount = 200000;

double dot(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

const std::vector<Particle>& sphere() {
  static const std::vector<Particle> particles = [] {
    std::vector<Particle> drawn;
    command::Random random(42, 0);
    for (std::size_t i = 0; i < kCount; ++i) {
      drawn.push_back(draw_plummer(random, kFamilies[i % 3], kCount));
    }
    return drawn;
  }();
  return particles;
}

std::vector<double> sorted_radii() {
  std::vector<double> radii;
  for (const Particle& particle : sphere()) {
    radii.push_back(std::sqrt(dot(particle.position, particle.position)));
  }
  std::ranges::sort(radii);
  return radii;
}

/// The mean of `value(particle)` over the sphere.
template <class Value>
double mean(Value value) {
  double sum = 0;
  for (const Particle& particle : sphere())
    sum += value(particle);
  return sum / kCount;
}

double standard_error(double deviation) { return deviation / std::sqrt(double{kCount}); }

TEST(Plummer, half_of_the_mass_is_inside_the_half_mass_radius) {
  const double density_there = 3 * 1.7024 / std::pow(2.7024, 2.5);
  EXPECT_NEAR(kHalfMassRadius, 1.3048, 1e-4);
  EXPECT_NEAR(sorted_radii()[kCount / 2], kHalfMassRadius, 5 * standard_error(0.5 / density_there));
}

TEST(Plummer, mass_profile_follows_theory_at_every_radius) {
  const std::vector<double> radii = sorted_radii();
  double deviation_max = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double s = radii[i] / std::sqrt(1 + radii[i] * radii[i]);
    const double found = (static_cast<double>(i) + 0.5) / kCount;
    deviation_max = std::max(deviation_max, std::abs(found - s * s * s));
  }
  EXPECT_LT(deviation_max, 1.95 / std::sqrt(double{kCount}));  // Kolmogorov-Smirnov, 0.1 %
}

TEST(Plummer, positions_are_isotropic) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto cosine = [axis](const Particle& particle) {
      return particle.position[axis] / std::sqrt(dot(particle.position, particle.position));
    };
    EXPECT_NEAR(mean(cosine), 0, 5 * standard_error(std::sqrt(1.0 / 3)));
    const auto square = [&](const Particle& particle) { return std::pow(cosine(particle), 2); };
    EXPECT_NEAR(mean(square), 1.0 / 3, 5 * standard_error(std::sqrt(4.0 / 45)));
  }
}

TEST(Plummer, velocities_are_isotropic_and_independent_of_position) {
  const auto cosine = [](const Particle& particle) {
    return dot(particle.position, particle.velocity) /
           std::sqrt(dot(particle.position, particle.position) *
                     dot(particle.velocity, particle.velocity));
  };
  EXPECT_NEAR(mean(cosine), 0, 5 * standard_error(std::sqrt(1.0 / 3)));
  const auto square = [&](const Particle& particle) { return std::pow(cosine(particle), 2); };
  EXPECT_NEAR(mean(square), 1.0 / 3, 5 * standard_error(std::sqrt(4.0 / 45)));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto part = [axis](const Particle& particle) {
      return std::pow(particle.velocity[axis], 2) / dot(particle.velocity, particle.velocity);
    };
    EXPECT_NEAR(mean(part), 1.0 / 3, 5 * standard_error(std::sqrt(4.0 / 45)));
  }
}

double depth(const Particle& particle) {
  return 1 / std::sqrt(1 + dot(particle.position, particle.position));
}

TEST(Plummer, local_and_total_dispersion_match_equilibrium) {
  const auto local = [](const Particle& particle) {
    return dot(particle.velocity, particle.velocity) / depth(particle);
  };
  EXPECT_NEAR(mean(local), 0.5, 5 * standard_error(0.3));
  const auto total = [](const Particle& particle) {
    return dot(particle.velocity, particle.velocity);
  };
  EXPECT_NEAR(std::sqrt(mean(total)), kDispersion, 0.003);
  EXPECT_NEAR(kDispersion * kDispersion, 3 * 3.14159265358979 / 32, 1e-12);
}

TEST(Plummer, no_particle_escapes) {
  for (const Particle& particle : sphere()) {
    ASSERT_LT(dot(particle.velocity, particle.velocity), 2 * depth(particle) * (1 + 1e-12));
  }
}

TEST(Plummer, fields_are_plausible) {
  for (std::size_t i = 0; i < 3000; ++i) {
    const Particle& particle = sphere()[i];
    const Family family = kFamilies[i % 3];
    EXPECT_EQ(particle.mass, static_cast<float>(1.0 / kCount));
    EXPECT_NEAR(phi_of(particle, family), -depth(particle), 1e-6);
    if (family != Family::kGas) continue;
    EXPECT_NEAR(particle.tail[0], 3 / (4 * 3.14159265) * std::pow(depth(particle), 5), 1e-6);
    EXPECT_GT(particle.tail[2], 0);
  }
}

TEST(Plummer, streams_of_one_seed_differ_and_repeat) {
  const auto first_of = [](std::uint64_t seed, std::uint64_t stream) {
    command::Random random(seed, stream);
    return draw_plummer(random, Family::kDark, 1);
  };
  EXPECT_EQ(first_of(1, 0), first_of(1, 0));
  EXPECT_NE(first_of(1, 0).position, first_of(1, 1).position);
  EXPECT_NE(first_of(1, 0).position, first_of(2, 0).position);
}

}  // namespace
}  // namespace forebay::tipsy
