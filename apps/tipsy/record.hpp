// SPDX-License-Identifier: Apache-2.0
// Records of particles to numbers and back, block by block, for every family, precision and byte
// order. One struct for all families: what differs is only how many fields follow the velocity.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "tipsy/layout.hpp"

namespace forebay::tipsy {

/// One particle. Coordinates are f64 here whatever they are in the file.
struct Particle {
  std::array<double, 3> position{};
  std::array<double, 3> velocity{};
  float mass = 0;
  /// What follows in the record: the first tail_count(family) are used, in the order of
  /// tail_names(family); phi is always the last of them.
  std::array<float, 5> tail{};

  friend bool operator==(const Particle&, const Particle&) noexcept = default;
};

/// The names of Particle::tail for a family.
std::span<const std::string_view> tail_names(Family family) noexcept;

constexpr float phi_of(const Particle& particle, Family family) {
  return particle.tail[tail_count(family) - 1];
}

/// What a record looks like.
struct RecordShape {
  Family family = Family::kGas;
  Precision precision = Precision::kSingle;
  ByteOrder order = ByteOrder::kStandard;

  constexpr std::uint64_t size_bytes() const { return record_bytes(family, precision); }
};

/// Reads particles.size() records; `bytes` must hold that many. Never fails: any bytes are numbers.
void decode_records(const RecordShape& shape,
                    std::span<const std::byte> bytes,
                    std::span<Particle> particles);

/// Writes particles.size() records to the start of `bytes`, which must be large enough. Coordinates
/// are rounded to f32 where the precision says so.
void encode_records(const RecordShape& shape,
                    std::span<const Particle> particles,
                    std::span<std::byte> bytes);

}  // namespace forebay::tipsy
