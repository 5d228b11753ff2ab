// SPDX-License-Identifier: Apache-2.0
// The sums of an analysis, of one task or of all. Coordinates are relative to the sample's center
// and velocity, so that a fast or distant system loses no digits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tipsy/particle_scan.hpp"
#include "tipsy/radial_bins.hpp"
#include "tipsy/sample.hpp"

namespace forebay::tipsy {

/// Origin of coordinates, and the shells; shared by all sums of one analysis.
struct ReferenceFrame {
  Vector3 center{};
  Vector3 velocity{};
  const RadialBins* shells = nullptr;
};

class AnalysisSums {
 public:
  explicit AnalysisSums(const ReferenceFrame& frame)
      : frame_(frame), counts_(frame.shells->bin_count()), masses_(frame.shells->bin_count()) {}

  void add(const Batch& batch);
  void merge(const AnalysisSums& other);

  double mass() const { return family_masses_[0] + family_masses_[1] + family_masses_[2]; }
  double mass_of(Family family) const { return family_masses_[index_of(family)]; }
  Vector3 center_of_mass() const;
  Vector3 mean_velocity() const;
  Vector3 dispersion() const;  ///< of each axis, weighted by mass
  /// Indexed by RadialBins::bin_of().
  const std::vector<std::uint64_t>& shell_counts() const { return counts_; }
  const std::vector<double>& shell_masses() const { return masses_; }

 private:
  ReferenceFrame frame_;
  std::array<double, 3> family_masses_{};
  Vector3 position_{};          // sum of mass times position
  Vector3 velocity_{};          // sum of mass times velocity
  Vector3 velocity_squared_{};  // sum of mass times velocity squared
  std::vector<std::uint64_t> counts_;
  std::vector<double> masses_;
};

}  // namespace forebay::tipsy
