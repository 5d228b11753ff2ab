// SPDX-License-Identifier: Apache-2.0
#include "tipsy/sample.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace forebay::tipsy {

namespace {

/// The sphere around the center first holds kShrinkStart of the particles. It shrinks by
/// kShrinkFactor until it holds one particle in kShrinkEnd, but not fewer than kShrinkEnd.
constexpr double kShrinkStart = 0.9;
constexpr double kShrinkFactor = 0.9;
constexpr std::size_t kShrinkEnd = 100;
/// One particle in kEdgeShare is inside all shells, and one outside.
constexpr std::size_t kEdgeShare = 1000;

double distance2(const Particle& particle, const Vector3& center) {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double d = particle.position[i] - center[i];
    sum += d * d;
  }
  return sum;
}

bool is_finite(const Particle& particle) {
  const auto finite = [](double x) { return std::isfinite(x); };
  return std::isfinite(particle.mass) && std::ranges::all_of(particle.position, finite) &&
         std::ranges::all_of(particle.velocity, finite);
}

/// Mean of a coordinate over particles, weighted by mass if any mass is above 0.
template <class Member>
Vector3 mean(std::span<const Particle> particles, Member member) {
  const bool massive = std::ranges::any_of(particles, [](const Particle& p) { return p.mass > 0; });
  Vector3 sum{};
  double total = 0;
  for (const Particle& particle : particles) {
    const double weight = massive ? std::max(particle.mass, 0.0F) : 1.0;
    total += weight;
    for (std::size_t i = 0; i < 3; ++i)
      sum[i] += weight * std::invoke(member, particle)[i];
  }
  for (double& x : sum)
    x /= std::max(total, std::numeric_limits<double>::min());
  return sum;
}

/// Squared distances to `center`, to select some by their rank.
class Distances {
 public:
  Distances(std::span<const Particle> particles, const Vector3& center) {
    squares_.reserve(particles.size());
    for (const Particle& particle : particles)
      squares_.push_back(distance2(particle, center));
  }
  double nth_smallest(std::size_t rank) {
    std::ranges::nth_element(squares_, squares_.begin() + static_cast<std::ptrdiff_t>(rank));
    return std::sqrt(squares_[rank]);
  }

 private:
  std::vector<double> squares_;
};

/// Center of mass of a sequence of shrinking spheres, each around the center of the one before.
/// Moves the particles inside to the front. `particles` must not be empty.
Vector3 shrinking_sphere_center(std::span<Particle> particles) {
  const std::size_t enough = std::max(kShrinkEnd, particles.size() / kShrinkEnd);
  const auto most = static_cast<double>(particles.size() - 1) * kShrinkStart;
  Vector3 center = mean(particles, &Particle::position);
  double radius = Distances(particles, center).nth_smallest(static_cast<std::size_t>(most));
  while (radius > 0) {
    const auto left = std::ranges::partition(particles, [&](const Particle& particle) {
      return distance2(particle, center) <= radius * radius;
    });
    particles = particles.first(particles.size() - left.size());
    if (particles.size() < enough) break;
    center = mean(particles, &Particle::position);
    radius *= kShrinkFactor;
  }
  return center;
}

/// Chooses the radii of the innermost and the outermost shell.
void choose_radii(std::span<const Particle> particles, Sample& sample) {
  Distances distances(particles, sample.center);
  const std::size_t cut = particles.size() / kEdgeShare;
  sample.inner_radius = distances.nth_smallest(cut);
  sample.outer_radius = distances.nth_smallest(particles.size() - 1 - cut);
}

/// Replaces radii that cannot be those of shells.
void clamp_radii(Sample& sample) {
  const auto usable = [](double radius) { return radius > 1e-100 && radius < 1e100; };
  if (!usable(sample.outer_radius)) sample.outer_radius = 1;
  if (!usable(sample.inner_radius) || sample.inner_radius >= 0.999 * sample.outer_radius) {
    sample.inner_radius = sample.outer_radius / kEdgeShare;
  }
}

/// Appends the runs of records of one range to `runs`.
void append_runs(const Layout& layout, ParticleRange range, std::vector<RecordRun>& runs) {
  while (!range.empty()) {
    runs.push_back(layout.next_record_run(range, UINT64_MAX));
    range.first += runs.back().count;
  }
}

std::vector<Particle> decode_runs(const Layout& layout,
                                  const std::vector<RecordRun>& runs,
                                  std::span<const std::byte> bytes) {
  std::vector<Particle> particles;
  for (const RecordRun& run : runs) {
    particles.resize(particles.size() + run.count);
    decode_records({run.family, layout.precision, layout.order}, bytes,
                   std::span(particles).last(run.count));
    bytes = bytes.subspan(run.bytes.size);
  }
  return particles;
}

}  // namespace

std::vector<ParticleRange> sample_ranges(std::uint64_t particle_count) {
  if (particle_count == 0) return {};
  if (particle_count <= kSampleRuns * kSampleRunParticles) return {{0, particle_count}};
  std::vector<ParticleRange> ranges;
  for (std::uint64_t i = 0; i < kSampleRuns; ++i) {
    const std::uint64_t first = share_of(particle_count, i, kSampleRuns).first;
    ranges.push_back({first, first + kSampleRunParticles});
  }
  return ranges;
}

Sample compute_sample(std::vector<Particle> particles) {
  std::erase_if(particles, [](const Particle& particle) { return !is_finite(particle); });
  Sample sample;
  sample.particle_count = particles.size();
  if (!particles.empty()) {
    sample.center = shrinking_sphere_center(particles);
    sample.mean_velocity = mean(particles, &Particle::velocity);
    choose_radii(particles, sample);
  }
  clamp_radii(sample);
  return sample;
}

Result<Sample> read_sample(SnapshotSource& source, const Layout& layout) {
  std::vector<RecordRun> runs;
  for (const ParticleRange& range : sample_ranges(layout.counts.total())) {
    append_runs(layout, range, runs);
  }
  std::vector<ByteRange> ranges;
  std::uint64_t sum = 0;
  for (const RecordRun& run : runs) {
    ranges.push_back(run.bytes);
    sum += run.bytes.size;
  }
  std::vector<std::byte> bytes(sum);
  if (const Status read_status = source.read_ranges(ranges, bytes); !read_status) {
    return failure(read_status.error());
  }
  return compute_sample(decode_runs(layout, runs, bytes));
}

}  // namespace forebay::tipsy
