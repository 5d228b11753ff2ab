// SPDX-License-Identifier: Apache-2.0
// Sums that both readers of a snapshot compute: mass, and mass times position and velocity, task by
// task. Sums of tasks are added in task order. So the result is the same to the last bit for any
// reader and order of reads, unless one has read wrong bytes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tipsy/record.hpp"

namespace forebay::bench::read {

class ParticleSums {
 public:
  void add(const tipsy::Particle& particle) noexcept {
    const double mass = particle.mass;
    values_[0] += mass;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      values_[1 + axis] += mass * particle.position[axis];
      values_[4 + axis] += mass * particle.velocity[axis];
    }
    values_[7] += particle.tail[1];
  }
  void add(const ParticleSums& later) noexcept {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] += later.values_[i];
  }
  double mass() const noexcept { return values_[0]; }

  /// An integer that changes with any bit of any sum, small enough to be exact in a double.
  double digest() const noexcept {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = 0;
    for (const double value : values_) {
      mixed = (mixed ^ std::bit_cast<std::uint64_t>(value)) * kFactor;
      mixed ^= mixed >> 29U;
    }
    return static_cast<double>(mixed >> 11U);
  }

 private:
  std::array<double, 8> values_{};  // mass, three moments of position, three of velocity, phi
};

/// The total over tasks, in order.
inline ParticleSums total_of(std::span<const ParticleSums> tasks) noexcept {
  ParticleSums total;
  for (const ParticleSums& task : tasks)
    total.add(task);
  return total;
}

}  // namespace forebay::bench::read
