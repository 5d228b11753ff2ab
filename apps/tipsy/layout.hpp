// SPDX-License-Identifier: Apache-2.0
// Location of each particle in a Tipsy snapshot: families, precisions, record sizes and offsets, as
// in docs/formats/tipsy.md. Pure arithmetic without files, so it can be tested case by case.
#pragma once

#include <forebay/range.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace forebay::tipsy {

/// The three kinds of particles, in the order of the file.
enum class Family : std::uint8_t { kGas, kDark, kStar };
inline constexpr std::array kFamilies{Family::kGas, Family::kDark, Family::kStar};
constexpr std::size_t index_of(Family family) { return static_cast<std::size_t>(family); }
std::string_view name_of(Family family) noexcept;

/// Byte order of all numbers of a file.
enum class ByteOrder : std::uint8_t {
  kStandard,  ///< big-endian (XDR)
  kNative,    ///< little-endian
};
std::string_view name_of(ByteOrder order) noexcept;

/// Which coordinates are f64; not stored in the header.
enum class Precision : std::uint8_t { kSingle, kDoublePositions, kDoubleVelocities, kDouble };
inline constexpr std::array kPrecisions{Precision::kSingle, Precision::kDoublePositions,
                                        Precision::kDoubleVelocities, Precision::kDouble};
std::string_view name_of(Precision precision) noexcept;
constexpr bool has_double_positions(Precision precision) {
  return precision == Precision::kDoublePositions || precision == Precision::kDouble;
}
constexpr bool has_double_velocities(Precision precision) {
  return precision == Precision::kDoubleVelocities || precision == Precision::kDouble;
}

inline constexpr std::uint64_t kHeaderBytes = 32;
inline constexpr std::uint64_t kShortHeaderBytes = 28;  ///< native, written by 32-bit programs
inline constexpr std::uint64_t kCountLimit = (1ULL << 40U) - 1;       ///< including the pad
inline constexpr std::uint64_t kShortCountLimit = (1ULL << 32U) - 1;  ///< without the pad
inline constexpr std::uint64_t kRecordBytesMax = 72;

/// Number of f32 fields after the velocity.
constexpr std::size_t tail_count(Family family) {
  constexpr std::array<std::size_t, 3> kCounts{5, 2, 4};
  return kCounts[index_of(family)];
}

constexpr std::uint64_t record_bytes(Family family, Precision precision) {
  const std::uint64_t position_bytes = has_double_positions(precision) ? 8 : 4;
  const std::uint64_t velocity_bytes = has_double_velocities(precision) ? 8 : 4;
  return 4 + 3 * position_bytes + 3 * velocity_bytes + 4 * tail_count(family);
}

/// Number of particles of each family.
struct Counts {
  std::uint64_t gas = 0;
  std::uint64_t dark = 0;
  std::uint64_t star = 0;

  constexpr std::uint64_t total() const { return gas + dark + star; }
  constexpr std::uint64_t of(Family family) const {
    return family == Family::kGas ? gas : family == Family::kDark ? dark : star;
  }
  friend constexpr bool operator==(const Counts&, const Counts&) noexcept = default;
};

/// Bytes of all records.
constexpr std::uint64_t records_bytes(const Counts& counts, Precision precision) {
  std::uint64_t sum = 0;
  for (const Family family : kFamilies)
    sum += counts.of(family) * record_bytes(family, precision);
  return sum;
}

/// Adjacent particles of one family, as they are stored in the file.
struct RecordRun {
  Family family = Family::kGas;
  std::uint64_t first = 0;  ///< index of its first particle in the snapshot
  std::uint64_t count = 0;
  ByteRange bytes;
};

/// A half-open range of particle indices.
struct ParticleRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  constexpr std::uint64_t count() const { return end - first; }
  constexpr bool empty() const { return first == end; }
};

/// All that is needed to find and read a record.
struct Layout {
  Counts counts;
  Precision precision = Precision::kSingle;
  ByteOrder order = ByteOrder::kStandard;
  std::uint64_t header_bytes = kHeaderBytes;

  /// Offset of the first record of `family`.
  std::uint64_t offset_of(Family family) const;
  /// End of the last record: the minimum size of the file.
  std::uint64_t end_offset() const { return header_bytes + records_bytes(counts, precision); }
  /// The longest run at the start of `range` that is of one family and has at most `limit_bytes`,
  /// but one particle or more. `range` must not be empty and must be inside the snapshot.
  RecordRun next_record_run(ParticleRange range, std::uint64_t limit_bytes) const;
  /// The bytes of all particles of `range`; they are contiguous.
  ByteRange bytes_of(ParticleRange range) const;
};

/// The particles of share `index` of `shares`. Shares are contiguous, and their sizes differ by at
/// most one: the first shares get the excess. Shares may be empty.
ParticleRange share_of(std::uint64_t particle_count, std::uint64_t index, std::uint64_t shares);

}  // namespace forebay::tipsy
