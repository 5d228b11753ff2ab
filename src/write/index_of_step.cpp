// SPDX-License-Identifier: Apache-2.0
// Blocks of ranks as blocks of an index. Block checksums are worked out here, from those of pieces.
#include "write/index_of_step.hpp"

#include <string>
#include <utility>
#include <vector>

#include "format/checksum.hpp"

namespace forebay::write {

namespace {

/// One rank's field in the index.
struct Target {
  format::FieldNumber number;
  format::FieldSeed seed;
  const format::FieldDefinition* field;
};

format::NewBlock new_block(const RankStep& part, const BlockRecord& block, const Target& target) {
  const std::size_t dimensions = target.field->dimensions;
  const std::span extents(part.extents);
  format::NewBlock added{
      .offset = block.offset, .raw_bytes = block.raw_bytes, .stored_bytes = block.stored_bytes};
  format::BlockSeed seed{};
  if (target.field->kind == format::FieldKind::kGlobal) {
    added.start = extents.subspan(block.first_extent, dimensions);
    added.shape = extents.subspan(block.first_extent + dimensions, dimensions);
    seed = format::array_seed(target.seed, added.start, added.shape);
  } else {
    added.part = block.part;
    added.shape = extents.subspan(block.first_extent, dimensions);
    seed = format::part_seed(target.seed, block.part);
  }
  const std::size_t pieces = format::piece_count(block.raw_bytes);
  added.piece_checksums = std::span(part.piece_checksums).subspan(block.first_piece, pieces);
  if (!part.piece_ends.empty()) {
    added.piece_ends = std::span(part.piece_ends).subspan(block.first_piece, pieces);
    added.codec = block.codec;
  }
  added.checksum = format::block_checksum(seed, added.piece_checksums);
  return added;
}

Status add_part(format::IndexBuilder& builder, format::StepSeed step, const RankStep& part) {
  std::vector<Target> targets;
  for (const format::FieldDefinition& field : part.fields) {
    const auto number = builder.add_field(field);
    if (!number) return failure(number.error());
    targets.push_back({*number, format::field_seed(step, field.name), &field});
  }
  for (const BlockRecord& block : part.blocks) {
    const Target& target = targets[block.field];
    const Status added = builder.add_block(target.number, new_block(part, block, target));
    if (!added) return added;
  }
  return {};
}

/// What an index cannot have, as the step of a rank.
Error of_step(std::uint64_t step, const Error& error, std::uint32_t rank) {
  return Error({.kind = error.kind(),
                .operation = "write step " + std::to_string(step),
                .cause = error.operation() + ": " + error.cause(),
                .rank = rank});
}

}  // namespace

Result<StepIndex> index_of_step(const format::IndexPlace& place,
                                const format::StepFacts& facts,
                                std::span<const RankStep> parts,
                                std::span<const std::uint32_t> ranks) {
  format::IndexBuilder builder(place, facts);
  const format::StepSeed step = format::step_seed(place.dataset, place.step);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Status added = add_part(builder, step, parts[i]);
    if (!added) return failure(of_step(place.step, added.error(), ranks[i]));
  }
  StepClaims claims = claims_of(parts, ranks);
  if (const Status all = check_uncontested(place.step, claims); !all) return failure(all.error());
  return StepIndex{std::move(builder), std::move(claims)};
}

}  // namespace forebay::write
