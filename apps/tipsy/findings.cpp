// SPDX-License-Identifier: Apache-2.0
#include "tipsy/findings.hpp"

#include <cmath>

namespace forebay::tipsy {

namespace {

/// Whether an id is in place of eps and phi; gas particles have none.
bool has_id(const Batch& batch) { return batch.has_ids && batch.family != Family::kGas; }

/// Calls `use` with each number of a particle, except an id.
template <class Use>
void for_each_value(const Particle& particle, const Batch& batch, const Use& use) {
  constexpr std::size_t kIdNumbers = 2;
  use(double{particle.mass});
  for (const double x : particle.position)
    use(x);
  for (const double v : particle.velocity)
    use(v);
  const std::size_t tail = tail_count(batch.family) - (has_id(batch) ? kIdNumbers : 0);
  for (std::size_t i = 0; i < tail; ++i)
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
    classify(particle, batch, offset_bytes);
    offset_bytes += batch.record_bytes;
    extend(ranges.mass, particle.mass);
    if (!has_id(batch)) extend(ranges.phi, phi_of(particle, batch.family));
    for (std::size_t i = 0; i < 3; ++i) {
      extend(ranges.position[i], particle.position[i]);
      extend(ranges.velocity[i], particle.velocity[i]);
    }
  }
  particle_count += batch.particles.size();
}

void Findings::classify(const Particle& particle, const Batch& batch, std::uint64_t offset_bytes) {
  bool finite = true;
  bool plausible = true;
  bool is_zero = true;
  for_each_value(particle, batch, [&](double value) {
    is_zero = is_zero && value == 0;
    finite = finite && std::isfinite(value);
    plausible = plausible && std::abs(value) < kPlausibleMax;
  });
  if (!finite) not_finite.add(offset_bytes);
  if (finite && !plausible) implausible.add(offset_bytes);
  if (particle.mass < 0) negative_mass.add(offset_bytes);
  if (is_zero) zero.add(offset_bytes);
}

void Findings::merge(const Findings& later) {
  particle_count += later.particle_count;
  not_finite.add(later.not_finite);
  negative_mass.add(later.negative_mass);
  implausible.add(later.implausible);
  zero.add(later.zero);
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
