// SPDX-License-Identifier: Apache-2.0
#include "tipsy/analysis_sums.hpp"

#include <cmath>

namespace forebay::tipsy {

namespace {

template <class Values>
void add_each(Values& sums, const Values& others) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] += others[i];
}

}  // namespace

void AnalysisSums::add(const Batch& batch) {
  // Local copies: for the compiler, the histograms could overlap the members.
  Vector3 position = position_;
  Vector3 velocity = velocity_;
  Vector3 velocity_squared = velocity_squared_;
  double family_mass = family_masses_[index_of(batch.family)];
  for (const Particle& particle : batch.particles) {
    const double mass = particle.mass;
    double radius_squared = 0;
    family_mass += mass;
    for (std::size_t i = 0; i < 3; ++i) {
      const double x = particle.position[i] - frame_.center[i];
      const double v = particle.velocity[i] - frame_.velocity[i];
      radius_squared += x * x;
      position[i] += mass * x;
      velocity[i] += mass * v;
      velocity_squared[i] += mass * v * v;
    }
    const std::size_t bin = frame_.shells->bin_of(radius_squared);
    ++counts_[bin];
    masses_[bin] += mass;
  }
  position_ = position;
  velocity_ = velocity;
  velocity_squared_ = velocity_squared;
  family_masses_[index_of(batch.family)] = family_mass;
}

void AnalysisSums::merge(const AnalysisSums& other) {
  add_each(family_masses_, other.family_masses_);
  add_each(position_, other.position_);
  add_each(velocity_, other.velocity_);
  add_each(velocity_squared_, other.velocity_squared_);
  add_each(counts_, other.counts_);
  add_each(masses_, other.masses_);
}

Vector3 AnalysisSums::center_of_mass() const {
  Vector3 center = frame_.center;
  for (std::size_t i = 0; i < 3; ++i)
    center[i] += position_[i] / mass();
  return center;
}

Vector3 AnalysisSums::mean_velocity() const {
  Vector3 mean = frame_.velocity;
  for (std::size_t i = 0; i < 3; ++i)
    mean[i] += velocity_[i] / mass();
  return mean;
}

Vector3 AnalysisSums::dispersion() const {
  Vector3 result{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double mean = velocity_[i] / mass();
    // Rounding can make it slightly negative if all velocities are equal; NaN remains NaN.
    const double variance = velocity_squared_[i] / mass() - mean * mean;
    result[i] = variance < 0 ? 0 : std::sqrt(variance);
  }
  return result;
}

}  // namespace forebay::tipsy
