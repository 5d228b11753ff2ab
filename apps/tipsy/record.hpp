// SPDX-License-Identifier: Apache-2.0
// Decodes and encodes records of particles, block by block, for every family, precision and byte
// order. One struct serves all families: they differ only in the number of fields after the
// velocity.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "tipsy/layout.hpp"

namespace forebay::tipsy {

/// One particle. Coordinates are f64 here, whatever their type in the file.
struct Particle {
  std::array<double, 3> position{};
  std::array<double, 3> velocity{};
  float mass = 0;
  /// The fields after the velocity: the first tail_count(family) are used, in the order of
  /// tail_names(family). phi is always the last of them.
  std::array<float, 5> tail{};

  friend bool operator==(const Particle&, const Particle&) noexcept = default;
};

/// The names of Particle::tail for a family.
std::span<const std::string_view> tail_names(Family family) noexcept;

constexpr float phi_of(const Particle& particle, Family family) {
  return particle.tail[tail_count(family) - 1];
}

/// Format of a record.
struct RecordFormat {
  Family family = Family::kGas;
  Precision precision = Precision::kSingle;
  ByteOrder order = ByteOrder::kStandard;

  constexpr std::uint64_t size_bytes() const { return record_bytes(family, precision); }
};

/// Decodes particles.size() records; `bytes` must hold that many. Never fails: any bytes are
/// numbers.
void decode_records(const RecordFormat& shape,
                    std::span<const std::byte> bytes,
                    std::span<Particle> particles);

/// Encodes particles.size() records to the start of `bytes`, which must be large enough.
/// Coordinates are rounded to f32 if the precision requires it.
void encode_records(const RecordFormat& shape,
                    std::span<const Particle> particles,
                    std::span<std::byte> bytes);

}  // namespace forebay::tipsy
