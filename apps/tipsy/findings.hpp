// SPDX-License-Identifier: Apache-2.0
// What is suspicious in particles: numbers that are not finite, masses below zero, magnitudes that
// only a wrong byte order or precision produces; and the ranges of the rest.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tipsy/survey.hpp"

namespace forebay::tipsy {

/// Magnitudes above this occur in no unit system in use.
inline constexpr double kImplausible = 1e25;

/// Smallest and largest of the finite values seen.
struct ValueRange {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  void add(const ValueRange& other) {
    if (other.empty()) return;
    add(other.least);
    add(other.most);
  }
  bool empty() const { return least > most; }
};

struct FamilyRanges {
  ValueRange mass;
  std::array<ValueRange, 3> position;
  std::array<ValueRange, 3> velocity;
  ValueRange phi;
};

/// How many particles have one kind of problem, and where the first is.
struct Suspicion {
  std::uint64_t count = 0;
  std::optional<std::uint64_t> first_offset_bytes;

  void add(std::uint64_t offset_bytes) {
    ++count;
    if (!first_offset_bytes) first_offset_bytes = offset_bytes;
  }
  /// `later` lies behind this in the file.
  void add(const Suspicion& later) {
    count += later.count;
    if (!first_offset_bytes) first_offset_bytes = later.first_offset_bytes;
  }
};

/// Part of a survey.
class Findings {
 public:
  void add(const Batch& batch);
  void merge(const Findings& later);

  const FamilyRanges& ranges(Family family) const { return ranges_[index_of(family)]; }
  std::uint64_t particle_count = 0;
  Suspicion not_finite;
  Suspicion negative_mass;
  Suspicion implausible;
  Suspicion zero;  ///< nothing but zeros: never written, or lost

 private:
  void judge(const Particle& particle, const Batch& batch, std::uint64_t offset_bytes);

  std::array<FamilyRanges, 3> ranges_;
};

}  // namespace forebay::tipsy
