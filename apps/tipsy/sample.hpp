// SPDX-License-Identifier: Apache-2.0
// Reads a few particles from the whole file before the pass over all of them: a density profile
// needs its center and its range beforehand.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <vector>

#include "tipsy/layout.hpp"
#include "tipsy/record.hpp"
#include "tipsy/snapshot_source.hpp"

namespace forebay::tipsy {

inline constexpr std::uint64_t kSampleRuns = 256;
inline constexpr std::uint64_t kSampleRunParticles = 256;

using Vector3 = std::array<double, 3>;

/// Results of a sample.
struct Sample {
  std::uint64_t particle_count = 0;
  Vector3 center{};
  Vector3 mean_velocity{};
  double inner_radius = 0;  ///< 0 < inner < outer, finite
  double outer_radius = 0;
};

/// The particle ranges to read: kSampleRuns runs spread evenly, or all particles if there are not
/// more. Ranges do not overlap and are not empty. Pure.
std::vector<ParticleRange> sample_ranges(std::uint64_t particle_count);

/// Computes a sample. Ignores particles with numbers that are not finite. Pure.
Sample compute_sample(std::vector<Particle> particles);

/// Reads and computes the sample of a file. The session of `source` must not have begun.
Result<Sample> read_sample(SnapshotSource& source, const Layout& layout);

}  // namespace forebay::tipsy
