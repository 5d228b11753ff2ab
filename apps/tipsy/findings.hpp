// SPDX-License-Identifier: Apache-2.0
// Suspicious values of particles: numbers that are not finite, negative masses, and magnitudes that
// only a wrong byte order or precision produces. Also the ranges of finite values.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tipsy/particle_scan.hpp"

namespace forebay::tipsy {

/// Larger magnitudes occur in no unit system in use.
inline constexpr double kPlausibleMax = 1e25;

/// Smallest and largest of the finite values.
struct ValueRange {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  void add(const ValueRange& other) {
    if (other.empty()) return;
    add(other.min);
    add(other.max);
  }
  bool empty() const { return min > max; }
};

struct FamilyRanges {
  ValueRange mass;
  std::array<ValueRange, 3> position;
  std::array<ValueRange, 3> velocity;
  ValueRange phi;
};

/// Number of particles with one kind of problem, and the offset of the first.
struct AnomalyCount {
  std::uint64_t count = 0;
  std::optional<std::uint64_t> first_offset_bytes;

  void add(std::uint64_t offset_bytes) {
    ++count;
    if (!first_offset_bytes) first_offset_bytes = offset_bytes;
  }
  /// `later` follows this one in the file.
  void add(const AnomalyCount& later) {
    count += later.count;
    if (!first_offset_bytes) first_offset_bytes = later.first_offset_bytes;
  }
};

/// Accumulates the findings of a scan.
class Findings {
 public:
  void add(const Batch& batch);
  void merge(const Findings& later);

  const FamilyRanges& ranges(Family family) const { return ranges_[index_of(family)]; }
  std::uint64_t particle_count = 0;
  AnomalyCount not_finite;
  AnomalyCount negative_mass;
  AnomalyCount implausible;
  AnomalyCount zero;  ///< only zeros: never written, or lost

 private:
  void classify(const Particle& particle, const Batch& batch, std::uint64_t offset_bytes);

  std::array<FamilyRanges, 3> ranges_;
};

}  // namespace forebay::tipsy
