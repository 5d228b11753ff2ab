// SPDX-License-Identifier: Apache-2.0
// A quick look at a few particles from all over the file, before the one pass over all of them: a
// density profile needs to know its centre and its range beforehand.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <vector>

#include "tipsy/layout.hpp"
#include "tipsy/record.hpp"
#include "tipsy/source.hpp"

namespace forebay::tipsy {

inline constexpr std::uint64_t kSampleRuns = 256;
inline constexpr std::uint64_t kSampleRunParticles = 256;

using Vector = std::array<double, 3>;

/// What the look found.
struct Sample {
  std::uint64_t particle_count = 0;
  Vector centre{};
  Vector mean_velocity{};
  double inner_radius = 0;  ///< 0 < inner < outer, finite
  double outer_radius = 0;
};

/// The particle ranges that are looked at: kSampleRuns runs spread evenly, or everything if that is
/// not more. They neither overlap nor are empty. Pure.
std::vector<ParticleRange> sample_ranges(std::uint64_t particle_count);

/// Draws conclusions from particles; those with numbers that are not finite are left out. Pure.
Sample conclude(std::vector<Particle> particles);

/// Looks at the file through `source`, which must not have begun.
Result<Sample> take_sample(ByteSource& source, const Layout& layout);

}  // namespace forebay::tipsy
