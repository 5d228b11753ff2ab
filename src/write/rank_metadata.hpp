// SPDX-License-Identifier: Apache-2.0
// RankMetadata: the fields, blocks and attributes of one rank in one step, and offsets of blocks.
// Flat arrays, because there may be a million blocks. It belongs to the application's thread until
// commit(), then to its agent, which sends it to the owner of the file.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"
#include "format/attributes.hpp"
#include "format/records.hpp"

namespace forebay::write {

inline constexpr std::uint32_t kNoRegion = UINT32_MAX;

/// "float64, parts of 2 dimensions" and similar, for Errors.
std::string description_of(const format::FieldDefinition& field);

struct BlockRecord {
  std::uint64_t part = 0;
  std::uint64_t offset = 0;  ///< in the region; in the file when sent to the file owner
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t first_dim = 0;    ///< index in RankMetadata::dims
  std::uint64_t first_piece = 0;  ///< index in RankMetadata::piece_checksums
  std::uint32_t field = 0;
  std::uint32_t region = kNoRegion;  ///< kNoRegion: no bytes
  format::Codec codec = format::Codec::kNone;
  std::array<std::uint8_t, 7> unused = {};  ///< so that a message has no undefined bytes
};
static_assert(std::has_unique_object_representations_v<BlockRecord>);

struct RankMetadata {
  std::uint64_t step = 0;
  std::vector<format::FieldDefinition> fields;
  std::vector<BlockRecord> blocks;
  std::vector<std::uint64_t> dims;  ///< of blocks: shape of a part; start, then count, of a box
  std::vector<std::uint64_t> piece_checksums;
  /// End of the stored bytes of each piece, from the beginning of its block; empty without
  /// compression.
  std::vector<std::uint64_t> piece_ends;
  std::uint32_t regions = 0;
  std::uint64_t raw_bytes = 0;
  format::AttributeTable attributes = {};
};

struct AttributeHash {
  format::AttributeKey key;
  std::uint64_t hash = 0;  ///< of the value: see format::hash_of()
};

/// What the coordinator compares between ranks.
struct RankSummary {
  std::vector<format::FieldDefinition> fields = {};
  std::vector<AttributeHash> attributes = {};
};
RankSummary summary_of(const RankMetadata& metadata);

/// Encodes the payload of a message, and decodes it. kDamage, with field and value, if the bytes
/// are not valid or a block refers to a missing field, region, dim or piece.
comm::Bytes to_bytes(const RankMetadata& metadata);
Result<RankMetadata> rank_metadata_from_bytes(std::span<const std::byte> bytes);

/// The same for a summary.
comm::Bytes to_bytes(const RankSummary& summary);
Result<RankSummary> rank_summary_from_bytes(std::span<const std::byte> bytes);

}  // namespace forebay::write
