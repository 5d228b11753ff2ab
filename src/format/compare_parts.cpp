// SPDX-License-Identifier: Apache-2.0
// Parts have numbers, so each has at most one counterpart: both are read piece by piece.
#include "format/block_reader.hpp"
#include "format/comparison.hpp"

namespace forebay::format {
namespace {

class PartDiff {
 public:
  PartDiff(Comparison& comparison, const FieldDefinition& definition)
      : comparison_(comparison), definition_(definition) {
    result_.name = definition.name;
  }

  Result<FieldDifference> run() {
    for (const BlockLocation& location : comparison_.left.blocks(definition_.name)) {
      ++comparison_.report.blocks_compared;
      if (const Status done = compare_part(location); !done) return tl::unexpected(done.error());
    }
    find_only_right();
    return std::move(result_);
  }

 private:
  Status compare_part(const BlockLocation& location);
  Status compare_pieces(const BlockLocation& left, const BlockLocation& right);
  void find_only_right();

  Comparison& comparison_;
  const FieldDefinition& definition_;
  BlockReader left_reader_;
  BlockReader right_reader_;
  std::vector<std::byte> left_bytes_;
  std::vector<std::byte> right_bytes_;
  FieldDifference result_;
};

Status PartDiff::compare_part(const BlockLocation& location) {
  const std::uint64_t part = comparison_.left.block(location).key;
  const std::uint64_t bytes = comparison_.left.block(location).raw_bytes;
  const auto other = comparison_.right.find_part(definition_.name, part);
  if (!other && other.error().kind() != ErrorClass::kNotFound) return tl::unexpected(other.error());
  if (!other) {
    comparison_.add_difference({.kind = BlockDifference::Kind::kOnlyLeft, .key = part}, result_);
    return comparison_.advance(bytes);
  }
  if (comparison_.left.index(location).shape(location.field, location.number) !=
      comparison_.right.index(*other).shape(other->field, other->number)) {
    comparison_.add_difference({.kind = BlockDifference::Kind::kShape, .key = part}, result_);
    return comparison_.advance(bytes);
  }
  if (comparison_.has_equal_checksum(location, *other)) {
    ++comparison_.report.blocks_matched_by_checksum;
    return comparison_.advance(bytes);
  }
  return compare_pieces(location, *other);
}

Status PartDiff::compare_pieces(const BlockLocation& left, const BlockLocation& right) {
  const Block block = comparison_.left.block(left);
  BlockDifference difference = {.key = block.key};
  for (std::uint64_t piece = 0; piece < block.pieces(); ++piece) {
    const ByteRange range = block.raw_range(piece);
    left_bytes_.resize(range.size);
    right_bytes_.resize(range.size);
    Status read = left_reader_.read_piece(comparison_.left, left, piece, left_bytes_);
    if (read) read = right_reader_.read_piece(comparison_.right, right, piece, right_bytes_);
    if (!read) return read;
    merge_difference(
        difference,
        compare_elements(definition_.type, definition_.order, left_bytes_, right_bytes_),
        range.offset / element_size(definition_.type));
    if (const Status done = comparison_.advance(range.size); !done) return done;
  }
  comparison_.report.blocks_read += 2;
  if (difference.elements > 0) comparison_.add_difference(difference, result_);
  return {};
}

void PartDiff::find_only_right() {
  for (const BlockLocation& location : comparison_.right.blocks(definition_.name)) {
    const std::uint64_t part = comparison_.right.block(location).key;
    if (comparison_.left.find_part(definition_.name, part)) continue;
    comparison_.add_difference({.kind = BlockDifference::Kind::kOnlyRight, .key = part}, result_);
  }
}

}  // namespace

Result<FieldDifference> compare_parts(Comparison& comparison, const FieldDefinition& definition) {
  return PartDiff(comparison, definition).run();
}

}  // namespace forebay::format
