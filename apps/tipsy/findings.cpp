// SPDX-License-Identifier: Apache-2.0
#include "tipsy/findings.hpp"

#include <cmath>

namespace forebay::tipsy {

namespace {

/// Calls `use` with each number of a particle.
template <class Use>
void for_each_value(const Particle& particle, Family family, const Use& use) {
  use(double{particle.mass});
  for (const double x : particle.position)
    use(x);
  for (const double v : particle.velocity)
    use(v);
  for (std::size_t i = 0; i < tail_count(family); ++i)
    use(double{particle.tail[i]});
}

void extend(ValueRange& range, double value) {
  if (std::isfinite(value)) range.add(value);
}

}  // namespace

void Findings::add(const Batch& batch) {
  std::uint64_t offset_bytes = batch.offset_bytes;
  FamilyRanges& ranges = ranges_[index_of(batch.family)];
  for (const Particle& particle : batch.particles) {
    judge(particle, batch.family, offset_bytes);
    offset_bytes += batch.record_bytes;
    extend(ranges.mass, particle.mass);
    extend(ranges.phi, phi_of(particle, batch.family));
    for (std::size_t i = 0; i < 3; ++i) {
      extend(ranges.position[i], particle.position[i]);
      extend(ranges.velocity[i], particle.velocity[i]);
    }
  }
  particle_count += batch.particles.size();
}

void Findings::judge(const Particle& particle, Family family, std::uint64_t offset_bytes) {
  bool finite = true;
  bool plausible = true;
  for_each_value(particle, family, [&](double value) {
    finite = finite && std::isfinite(value);
    plausible = plausible && std::abs(value) < kImplausible;
  });
  if (!finite) not_finite.add(offset_bytes);
  if (finite && !plausible) implausible.add(offset_bytes);
  if (particle.mass < 0) negative_mass.add(offset_bytes);
}

void Findings::merge(const Findings& later) {
  particle_count += later.particle_count;
  not_finite.add(later.not_finite);
  negative_mass.add(later.negative_mass);
  implausible.add(later.implausible);
  for (std::size_t f = 0; f < ranges_.size(); ++f) {
    ranges_[f].mass.add(later.ranges_[f].mass);
    ranges_[f].phi.add(later.ranges_[f].phi);
    for (std::size_t i = 0; i < 3; ++i) {
      ranges_[f].position[i].add(later.ranges_[f].position[i]);
      ranges_[f].velocity[i].add(later.ranges_[f].velocity[i]);
    }
  }
}

}  // namespace forebay::tipsy
