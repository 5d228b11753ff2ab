// SPDX-License-Identifier: Apache-2.0
// Converts blocks of ranks to blocks of an index. Computes block checksums from those of pieces.
#include "write/step_index.hpp"

#include <string>
#include <utility>
#include <vector>

#include "format/checksum.hpp"

namespace forebay::write {

namespace {

/// One rank's field in the index.
struct IndexField {
  format::FieldNumber number;
  format::FieldSeed seed;
  const format::FieldDefinition* field;
};

format::NewBlock new_block(const RankMetadata& metadata,
                           const BlockRecord& block,
                           const IndexField& target) {
  const std::size_t dimensions = target.field->dimensions;
  const std::span dims(metadata.dims);
  format::NewBlock added{
      .offset = block.offset, .raw_bytes = block.raw_bytes, .stored_bytes = block.stored_bytes};
  format::BlockSeed seed{};
  if (target.field->kind == format::FieldKind::kGlobal) {
    added.start = dims.subspan(block.first_dim, dimensions);
    added.shape = dims.subspan(block.first_dim + dimensions, dimensions);
    seed = format::array_seed(target.seed, added.start, added.shape);
  } else {
    added.part = block.part;
    added.shape = dims.subspan(block.first_dim, dimensions);
    seed = format::part_seed(target.seed, block.part);
  }
  const std::size_t pieces = format::piece_count(block.raw_bytes);
  added.piece_checksums = std::span(metadata.piece_checksums).subspan(block.first_piece, pieces);
  if (!metadata.piece_ends.empty()) {
    added.piece_ends = std::span(metadata.piece_ends).subspan(block.first_piece, pieces);
    added.codec = block.codec;
  }
  added.checksum = format::block_checksum(seed, added.piece_checksums);
  return added;
}

Status add_rank(format::IndexBuilder& builder,
                format::StepSeed step,
                const RankMetadata& metadata) {
  std::vector<IndexField> targets;
  for (const format::FieldDefinition& field : metadata.fields) {
    const auto number = builder.add_field(field);
    if (!number) return failure(number.error());
    targets.push_back({*number, format::field_seed(step, field.name), &field});
  }
  for (const BlockRecord& block : metadata.blocks) {
    const IndexField& target = targets[block.field];
    const Status added = builder.add_block(target.number, new_block(metadata, block, target));
    if (!added) return added;
  }
  return builder.add_attributes(metadata.attributes);
}

/// An Error of the index builder as that of a rank's step.
Error step_error(std::uint64_t step, const Error& error, std::uint32_t rank) {
  return Error({.kind = error.kind(),
                .operation = "write step " + std::to_string(step),
                .cause = error.operation() + ": " + error.cause(),
                .rank = rank});
}

}  // namespace

Result<StepIndex> build_step_index(const format::IndexId& id,
                                   const format::StepMetadata& facts,
                                   std::span<const RankMetadata> metadata,
                                   std::span<const std::uint32_t> ranks) {
  format::IndexBuilder builder(id, facts);
  const format::StepSeed step = format::step_seed(id.dataset, id.step);
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    const Status added = add_rank(builder, step, metadata[i]);
    if (!added) return failure(step_error(id.step, added.error(), ranks[i]));
  }
  StepCoverage coverage = coverage_of(metadata, ranks);
  if (const Status status = check_no_overlap(id.step, coverage); !status)
    return failure(status.error());
  return StepIndex{std::move(builder), std::move(coverage)};
}

}  // namespace forebay::write
