// SPDX-License-Identifier: Apache-2.0
// Random indexes, and their expected content. For tests and fuzz corpora only.
#pragma once

#include <algorithm>
#include <random>

#include "base/assert.hpp"
#include "format/index_builder.hpp"

namespace forebay::format {

/// A block as passed to the builder.
struct BlockInput {
  FieldDefinition field = {};
  std::uint64_t part = 0;
  Coordinates start = {};
  Coordinates shape = {};
  std::uint64_t offset = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  Codec codec = Codec::kNone;
  std::uint64_t checksum = 0;
  std::vector<std::uint64_t> piece_checksums = {};
  std::vector<std::uint64_t> piece_ends = {};
};

inline Status add_input(IndexBuilder& builder, const BlockInput& block) {
  const auto field = builder.add_field(block.field);
  if (!field) return tl::unexpected(field.error());
  return builder.add_block(*field, {.part = block.part,
                                    .start = block.start,
                                    .shape = block.shape,
                                    .offset = block.offset,
                                    .raw_bytes = block.raw_bytes,
                                    .stored_bytes = block.stored_bytes,
                                    .codec = block.codec,
                                    .checksum = block.checksum,
                                    .piece_checksums = block.piece_checksums,
                                    .piece_ends = block.piece_ends});
}

/// Creates consistent fields and blocks of all kinds.
class RandomIndex {
 public:
  explicit RandomIndex(std::uint64_t seed) : random_(seed) {
    const std::uint64_t fields = random_below(6);
    for (std::uint64_t i = 0; i < fields; ++i)
      add_field("field " + std::to_string(random_below(1000)) + "-" + std::to_string(i));
    std::shuffle(blocks.begin(), blocks.end(), random_);
  }

  IndexId id = {.dataset = {std::byte{7}}, .step = 42, .group = 3, .file = 5};
  StepMetadata metadata = {.wall_ns = 1, .writers = 2, .files = 8, .strategy = 4};
  std::vector<BlockInput> blocks;
  std::uint64_t end = kPageBytes;  ///< of the last block

  std::uint64_t index_offset() const { return round_up(end, kPageBytes); }
  Result<std::vector<std::byte>> encode() const {
    IndexBuilder builder(id, metadata);
    for (const BlockInput& block : blocks)
      if (Status added = add_input(builder, block); !added) return tl::unexpected(added.error());
    return builder.encode(index_offset());
  }

 private:
  std::uint64_t random_below(std::uint64_t limit) { return random_() % limit; }

  void add_field(const std::string& name) {
    FieldDefinition field = {.name = name,
                             .type = static_cast<ElementType>(1 + random_below(kElementTypeMax)),
                             .order = static_cast<ByteOrder>(random_below(2)),
                             .kind = static_cast<FieldKind>(random_below(2))};
    const bool is_global = field.kind == FieldKind::kGlobal;
    field.dimensions =
        static_cast<std::uint32_t>(is_global ? 1 + random_below(4) : random_below(4));
    if (is_global)
      for (std::uint32_t d = 0; d < field.dimensions; ++d)
        field.shape.push_back(1 + random_below(40));
    const std::uint64_t count = is_global ? field.shape[0] : random_below(20);
    for (std::uint64_t i = 0; i < count; ++i)
      add_block(field, i);
  }

  /// Parts of any shape; for global arrays slabs along the first dimension.
  void add_block(const FieldDefinition& field, std::uint64_t number) {
    BlockInput block = {.field = field};
    if (field.kind == FieldKind::kGlobal) {
      block.shape = field.shape;
      block.shape[0] = 1;
      block.start.resize(field.dimensions);
      block.start[0] = number;
    } else {
      block.part = number * 1000 + random_below(1000);
      for (std::uint32_t d = 0; d < field.dimensions; ++d)
        block.shape.push_back(random_below(field.dimensions == 1 ? 600'000 : 60));
    }
    block.raw_bytes = array_bytes(field.type, block.shape).value();
    store(block);
    blocks.push_back(std::move(block));
  }

  void store(BlockInput& block) {
    block.codec = static_cast<Codec>(random_below(2));
    block.checksum = random_();
    const std::uint64_t pieces = piece_count(block.raw_bytes);
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      block.piece_checksums.push_back(random_());
      const std::uint64_t raw = std::min(kPieceBytes, block.raw_bytes - piece * kPieceBytes);
      block.stored_bytes += block.codec == Codec::kNone ? raw : 1 + random_below(raw);
      block.piece_ends.push_back(block.stored_bytes);
    }
    block.offset = round_up(end, kBlockAlignmentBytes);
    end = block.offset + block.stored_bytes;
  }

  std::mt19937_64 random_;
};

}  // namespace forebay::format
