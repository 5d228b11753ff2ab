// SPDX-License-Identifier: Apache-2.0
// Parts have numbers, so each has at most one counterpart: the two are read piece by piece.
#include "format/block_reader.hpp"
#include "format/comparison.hpp"

namespace forebay::format {
namespace {

class PartDiff {
 public:
  PartDiff(Comparison& whole, const FieldDefinition& definition)
      : whole_(whole), definition_(definition) {
    result_.name = definition.name;
  }

  Result<FieldDifference> run() {
    for (const BlockPlace& place : whole_.left.blocks(definition_.name)) {
      ++whole_.report.blocks_compared;
      Status done = compare_part(place);
      if (done) done = whole_.advance(whole_.left.block(place).raw_bytes);
      if (!done) return tl::unexpected(done.error());
    }
    find_only_right();
    return std::move(result_);
  }

 private:
  Status compare_part(const BlockPlace& place);
  Status compare_pieces(const BlockPlace& left, const BlockPlace& right);
  void find_only_right();

  Comparison& whole_;
  const FieldDefinition& definition_;
  BlockReader left_reader_;
  BlockReader right_reader_;
  std::vector<std::byte> left_bytes_;
  std::vector<std::byte> right_bytes_;
  FieldDifference result_;
};

Status PartDiff::compare_part(const BlockPlace& place) {
  const std::uint64_t part = whole_.left.block(place).key;
  const auto other = whole_.right.find_part(definition_.name, part);
  if (!other && other.error().kind() != ErrorClass::kNotFound) return tl::unexpected(other.error());
  if (!other) {
    whole_.add({.kind = BlockDifference::Kind::kOnlyLeft, .key = part}, result_);
    return {};
  }
  if (whole_.left.index(place).shape(place.field, place.number) !=
      whole_.right.index(*other).shape(other->field, other->number)) {
    whole_.add({.kind = BlockDifference::Kind::kShape, .key = part}, result_);
    return {};
  }
  if (whole_.have_same_checksum(place, *other)) {
    ++whole_.report.blocks_by_checksum;
    return {};
  }
  return compare_pieces(place, *other);
}

Status PartDiff::compare_pieces(const BlockPlace& left, const BlockPlace& right) {
  const Block block = whole_.left.block(left);
  BlockDifference difference = {.key = block.key};
  for (std::uint64_t piece = 0; piece < block.pieces(); ++piece) {
    const ByteRange range = block.raw_range(piece);
    left_bytes_.resize(range.size);
    right_bytes_.resize(range.size);
    Status read = left_reader_.read_piece(whole_.left, left, piece, left_bytes_);
    if (read) read = right_reader_.read_piece(whole_.right, right, piece, right_bytes_);
    if (!read) return read;
    take_in(difference, compare(definition_.type, definition_.order, left_bytes_, right_bytes_),
            range.offset / bytes_of(definition_.type));
  }
  whole_.report.blocks_read += 2;
  if (difference.elements > 0) whole_.add(difference, result_);
  return {};
}

void PartDiff::find_only_right() {
  for (const BlockPlace& place : whole_.right.blocks(definition_.name)) {
    const std::uint64_t part = whole_.right.block(place).key;
    if (whole_.left.find_part(definition_.name, part)) continue;
    whole_.add({.kind = BlockDifference::Kind::kOnlyRight, .key = part}, result_);
  }
}

}  // namespace

Result<FieldDifference> compare_parts(Comparison& whole, const FieldDefinition& definition) {
  return PartDiff(whole, definition).run();
}

}  // namespace forebay::format
