// SPDX-License-Identifier: Apache-2.0
// The sums an analysis is made of, for one task or for all. Coordinates are taken relative to what
// the sample found, so that a fast or distant system loses no digits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tipsy/sample.hpp"
#include "tipsy/shells.hpp"
#include "tipsy/survey.hpp"

namespace forebay::tipsy {

/// Where coordinates count from, and the shells; shared by all sums of one analysis.
struct Frame {
  Vector centre{};
  Vector velocity{};
  const Shells* shells = nullptr;
};

class AnalysisSums {
 public:
  explicit AnalysisSums(const Frame& frame)
      : frame_(frame), counts_(frame.shells->slot_count()), masses_(frame.shells->slot_count()) {}

  void add(const Batch& batch);
  void merge(const AnalysisSums& other);

  double mass() const { return family_masses_[0] + family_masses_[1] + family_masses_[2]; }
  double mass_of(Family family) const { return family_masses_[index_of(family)]; }
  Vector centre_of_mass() const;
  Vector mean_velocity() const;
  Vector dispersion() const;  ///< of each axis, weighted by mass
  /// By Shells::slot_of().
  const std::vector<std::uint64_t>& shell_counts() const { return counts_; }
  const std::vector<double>& shell_masses() const { return masses_; }

 private:
  Frame frame_;
  std::array<double, 3> family_masses_{};
  Vector position_{};          // sum of mass times position
  Vector velocity_{};          // sum of mass times velocity
  Vector velocity_squared_{};  // sum of mass times velocity squared
  std::vector<std::uint64_t> counts_;
  std::vector<double> masses_;
};

}  // namespace forebay::tipsy
