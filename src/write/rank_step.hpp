// SPDX-License-Identifier: Apache-2.0
// What one rank has put into one step: fields, blocks, and where in its regions they lie. Flat
// arrays, as there may be a million blocks. The application's thread fills it until commit(); then
// it is its agent's, which sends it on to the owner of the file.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"
#include "format/records.hpp"

namespace forebay::write {

inline constexpr std::uint32_t kNoRegion = UINT32_MAX;

/// "float64, parts of 2 dimensions" and the like, for Errors.
std::string description_of(const format::FieldDefinition& field);

struct BlockRecord {
  std::uint64_t part = 0;
  std::uint64_t offset = 0;  ///< within its region; once that has a place, in the file
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t first_extent = 0;  ///< in RankStep::extents: a part's shape, or start and count
  std::uint64_t first_piece = 0;   ///< in RankStep::piece_checksums
  std::uint32_t field = 0;
  std::uint32_t region = kNoRegion;  ///< none: no bytes
  format::Codec codec = format::Codec::kNone;
  std::array<std::uint8_t, 7> unused = {};  ///< no byte of a message is left to chance
};
static_assert(std::has_unique_object_representations_v<BlockRecord>);

struct RankStep {
  std::uint64_t step = 0;
  std::vector<format::FieldDefinition> fields;
  std::vector<BlockRecord> blocks;
  std::vector<std::uint64_t> extents;
  std::vector<std::uint64_t> piece_checksums;
  /// Where in its block the stored bytes of each piece end; empty where nothing is compressed.
  std::vector<std::uint64_t> piece_ends;
  std::uint32_t regions = 0;
  std::uint64_t raw_bytes = 0;
};

/// As the payload of a letter, and back: kDamage, with field and value, unless everything that a
/// block refers to is there.
comm::Bytes to_bytes(const RankStep& step);
Result<RankStep> rank_step_from(std::span<const std::byte> bytes);

/// The fields alone.
comm::Bytes fields_to_bytes(const std::vector<format::FieldDefinition>& fields);
Result<std::vector<format::FieldDefinition>> fields_from(std::span<const std::byte> bytes);

}  // namespace forebay::write
