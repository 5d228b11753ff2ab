// SPDX-License-Identifier: Apache-2.0
#include "tipsy/sample.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tipsy/plummer.hpp"

namespace forebay::tipsy {
namespace {

TEST(Sample, ranges_are_all_particles_or_spread_without_overlap) {
  EXPECT_TRUE(sample_ranges(0).empty());
  for (const std::uint64_t count : {1ULL, 1000ULL, 65536ULL}) {
    ASSERT_EQ(sample_ranges(count).size(), 1U);
    EXPECT_EQ(sample_ranges(count).front().count(), count);
  }
  for (const std::uint64_t count : {65537ULL, 1000000ULL, (1ULL << 40U) - 1}) {
    const auto ranges = sample_ranges(count);
    ASSERT_EQ(ranges.size(), kSampleRuns);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ(ranges[i].count(), kSampleRunParticles);
      EXPECT_LE(ranges[i].end, i + 1 < ranges.size() ? ranges[i + 1].first : count);
    }
    EXPECT_GT(ranges.back().end, count - count / kSampleRuns);
  }
}

std::vector<Particle> sphere_at(const Vector3& center, std::size_t count) {
  command::Random random(5, 0);
  std::vector<Particle> particles;
  for (std::size_t i = 0; i < count; ++i) {
    particles.push_back(draw_plummer(random, Family::kDark, count));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      particles.back().position[axis] += center[axis];
      particles.back().velocity[axis] += 10;
    }
  }
  return particles;
}

TEST(Sample, center_is_that_of_the_densest_region_not_of_mass) {
  const Vector3 center{5, -7, 100};
  auto particles = sphere_at(center, 20000);
  for (std::size_t i = 0; i < 1000; ++i)
    particles[i].position = {400, 400, 400};
  const Sample sample = compute_sample(particles);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(sample.center[axis], center[axis], 0.05);
    EXPECT_NEAR(sample.mean_velocity[axis], 10, 0.05);
  }
  EXPECT_EQ(sample.particle_count, 20000U);
}

TEST(Sample, shells_exclude_a_thousandth_at_each_end) {
  const Sample sample = compute_sample(sphere_at({}, 20000));
  const auto mass_inside = [](double r) { return std::pow(r / std::sqrt(1 + r * r), 3); };
  EXPECT_NEAR(mass_inside(sample.inner_radius), 0.001, 0.001);
  EXPECT_NEAR(mass_inside(sample.outer_radius), 0.999, 0.001);
}

TEST(Sample, numbers_that_are_not_finite_are_ignored) {
  auto particles = sphere_at({}, 1000);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  particles[3].position[1] = nan;
  particles[4].velocity[2] = std::numeric_limits<double>::infinity();
  particles[5].mass = static_cast<float>(nan);
  const Sample sample = compute_sample(particles);
  EXPECT_EQ(sample.particle_count, 997U);
  EXPECT_TRUE(std::isfinite(sample.center[1]));
  EXPECT_TRUE(std::isfinite(sample.outer_radius));
}

TEST(Sample, any_particles_yield_valid_radii) {
  const Particle one{{1, 2, 3}, {}, 1.0F, {}};
  const Particle massless{{1, 2, 3}, {}, 0.0F, {}};
  Particle far = one;
  far.position = {1e300, 0, 0};
  for (const auto& particles : {std::vector<Particle>{},
                                {one},
                                {massless, massless},
                                {one, far},
                                std::vector<Particle>(500, one)}) {
    const Sample sample = compute_sample(particles);
    EXPECT_GT(sample.inner_radius, 0);
    EXPECT_GT(sample.outer_radius, sample.inner_radius);
    EXPECT_LT(sample.outer_radius, 1e101);
  }
}

}  // namespace
}  // namespace forebay::tipsy
