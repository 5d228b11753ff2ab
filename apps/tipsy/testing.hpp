// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of this directory, besides the code that all applications share: files made
// of particles.
#pragma once

#include <random>
#include <vector>

#include "command/testing.hpp"
#include "tipsy/header.hpp"
#include "tipsy/record.hpp"

namespace forebay::tipsy::testing {

using command::testing::read_file;
using command::testing::TempDirectory;
using command::testing::write_file;

/// Particles with seeded values of both signs and several magnitudes.
inline std::vector<Particle> random_particles(std::uint64_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> value(0.25, 3.0);
  std::vector<Particle> particles(count);
  for (Particle& particle : particles) {
    for (double& x : particle.position)
      x = value(random);
    for (double& v : particle.velocity)
      v = 100 + value(random);
    particle.mass = static_cast<float>(0.01 + std::abs(value(random)));
    for (float& field : particle.tail)
      field = static_cast<float>(value(random));
  }
  return particles;
}

/// The bytes of a complete snapshot of these particles.
inline std::vector<std::byte> encode_snapshot(const Layout& layout,
                                              std::span<const Particle> particles) {
  std::vector<std::byte> bytes(layout.end_offset());
  const HeaderBytes header = encode_header(make_header(0.5, layout.counts), layout.order);
  std::copy_n(header.begin(), layout.header_bytes, bytes.begin());
  for (const Family family : kFamilies) {
    const auto records = std::span(bytes).subspan(layout.offset_of(family));
    encode_records({family, layout.precision, layout.order},
                   particles.first(layout.counts.of(family)), records);
    particles = particles.subspan(layout.counts.of(family));
  }
  return bytes;
}

/// All particles of the snapshot in `bytes`.
inline std::vector<Particle> decode_snapshot(const Layout& layout,
                                             std::span<const std::byte> bytes) {
  std::vector<Particle> particles(layout.counts.total());
  std::span<Particle> rest(particles);
  for (const Family family : kFamilies) {
    const auto mine = rest.first(layout.counts.of(family));
    decode_records({family, layout.precision, layout.order},
                   bytes.subspan(layout.offset_of(family)), mine);
    rest = rest.subspan(mine.size());
  }
  return particles;
}

}  // namespace forebay::tipsy::testing
