// SPDX-License-Identifier: Apache-2.0
// Random indexes, and what they should say. For tests and fuzz corpora only.
#pragma once

#include <algorithm>
#include <random>

#include "base/assert.hpp"
#include "format/index_builder.hpp"

namespace forebay::format {

/// A block as it was given to the builder.
struct GivenBlock {
  FieldDefinition field = {};
  std::uint64_t part = 0;
  Place start = {};
  Place shape = {};
  std::uint64_t offset = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  Codec codec = Codec::kNone;
  std::uint64_t checksum = 0;
  std::vector<std::uint64_t> piece_checksums = {};
  std::vector<std::uint64_t> piece_ends = {};
};

inline Status add(IndexBuilder& builder, const GivenBlock& block) {
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

/// Makes fields and blocks that suit each other, of all kinds.
class RandomIndex {
 public:
  explicit RandomIndex(std::uint64_t seed) : random_(seed) {
    const std::uint64_t fields = below(6);
    for (std::uint64_t i = 0; i < fields; ++i)
      add_field("field " + std::to_string(below(1000)) + "-" + std::to_string(i));
    std::shuffle(blocks.begin(), blocks.end(), random_);
  }

  IndexPlace place = {.dataset = {std::byte{7}}, .step = 42, .group = 3, .file = 5};
  StepFacts facts = {.wall_ns = 1, .writers = 2, .files = 8, .strategy = 4};
  std::vector<GivenBlock> blocks;
  std::uint64_t end = kPageBytes;  ///< of the last block

  std::uint64_t index_offset() const { return round_up(end, kPageBytes); }
  Result<std::vector<std::byte>> encode() const {
    IndexBuilder builder(place, facts);
    for (const GivenBlock& block : blocks)
      if (Status added = add(builder, block); !added) return tl::unexpected(added.error());
    return builder.encode(index_offset());
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void add_field(const std::string& name) {
    FieldDefinition field = {.name = name,
                             .type = static_cast<ElementType>(1 + below(kElementTypeMax)),
                             .order = static_cast<ByteOrder>(below(2)),
                             .kind = static_cast<FieldKind>(below(2))};
    const bool is_global = field.kind == FieldKind::kGlobal;
    field.dimensions = static_cast<std::uint32_t>(is_global ? 1 + below(4) : below(4));
    if (is_global)
      for (std::uint32_t d = 0; d < field.dimensions; ++d)
        field.shape.push_back(1 + below(40));
    const std::uint64_t count = is_global ? field.shape[0] : below(20);
    for (std::uint64_t i = 0; i < count; ++i)
      add_block(field, i);
  }

  /// Parts of any shape; of global arrays slabs along the first dimension.
  void add_block(const FieldDefinition& field, std::uint64_t number) {
    GivenBlock block = {.field = field};
    if (field.kind == FieldKind::kGlobal) {
      block.shape = field.shape;
      block.shape[0] = 1;
      block.start.resize(field.dimensions);
      block.start[0] = number;
    } else {
      block.part = number * 1000 + below(1000);
      for (std::uint32_t d = 0; d < field.dimensions; ++d)
        block.shape.push_back(below(field.dimensions == 1 ? 600'000 : 60));
    }
    block.raw_bytes = array_bytes(field.type, block.shape).value();
    store(block);
    blocks.push_back(std::move(block));
  }

  void store(GivenBlock& block) {
    block.codec = static_cast<Codec>(below(2));
    block.checksum = random_();
    const std::uint64_t pieces = piece_count(block.raw_bytes);
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      block.piece_checksums.push_back(random_());
      const std::uint64_t raw = std::min(kPieceBytes, block.raw_bytes - piece * kPieceBytes);
      block.stored_bytes += block.codec == Codec::kNone ? raw : 1 + below(raw);
      block.piece_ends.push_back(block.stored_bytes);
    }
    block.offset = round_up(end, kBlockAlignmentBytes);
    end = block.offset + block.stored_bytes;
  }

  std::mt19937_64 random_;
};

}  // namespace forebay::format
