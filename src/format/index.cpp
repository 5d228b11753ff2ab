// SPDX-License-Identifier: Apache-2.0
#include "format/index.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "format/layout.hpp"

namespace forebay::format {
namespace {

/// Coordinates without an allocation.
using FixedCoordinates = std::array<std::uint64_t, kDimensionsMax>;

/// Coordinates of the element with this number in an array in C order.
FixedCoordinates coordinates_of(std::uint64_t key, std::span<const std::uint64_t> shape) noexcept {
  FixedCoordinates place = {};
  for (std::size_t d = shape.size(); d-- > 0;) {
    place[d] = key % shape[d];
    key /= shape[d];
  }
  return place;
}

constexpr std::uint64_t kBlockWords = sizeof(layout::Block) / sizeof(std::uint64_t);

}  // namespace

ByteRange Block::raw_range(std::uint64_t piece) const noexcept {
  FOREBAY_ASSERT(piece < pieces());
  const std::uint64_t begin = piece * kPieceBytes;
  return {begin, std::min(kPieceBytes, raw_bytes - begin)};
}

ByteRange Block::stored_range(std::uint64_t piece) const noexcept {
  if (codec == Codec::kNone) {
    const ByteRange raw = raw_range(piece);
    return {offset + raw.offset, raw.size};
  }
  if (piece_ends.empty()) return {offset, stored_bytes};
  FOREBAY_ASSERT(piece < piece_ends.size());
  const std::uint64_t begin = piece == 0 ? 0 : piece_ends[piece - 1];
  return {offset + begin, piece_ends[piece] - begin};
}

bool is_valid_piece(BlockSeed seed,
                    const Block& block,
                    std::uint64_t piece,
                    const PieceBytes& bytes) noexcept {
  const std::uint64_t checksum = piece_checksum(seed, piece, bytes);
  if (!block.piece_checksums.empty()) return checksum == block.piece_checksums[piece];
  return block.checksum == block_checksum(seed, {&checksum, 1});
}

Reference Index::reference() const noexcept {
  const std::uint64_t checksum = words_[header_.bytes / sizeof(std::uint64_t) - 1];
  return {header_.offset, header_.bytes, checksum};
}

std::optional<std::uint32_t> Index::find_field(std::string_view name) const noexcept {
  const auto found = std::lower_bound(fields_.begin(), fields_.end(), name,
                                      [](const IndexField& field, std::string_view requested) {
                                        return field.definition.name < requested;
                                      });
  if (found == fields_.end() || found->definition.name != name) return std::nullopt;
  return static_cast<std::uint32_t>(found - fields_.begin());
}

std::uint64_t Index::key_of(const IndexField& field, std::uint64_t number) const noexcept {
  return words_[blocks_offset_ + (field.first_block + number) * kBlockWords];
}

Block Index::block(std::uint32_t field, std::uint64_t number) const noexcept {
  FOREBAY_ASSERT(number < fields_[field].blocks);
  const std::uint64_t at = blocks_offset_ + (fields_[field].first_block + number) * kBlockWords;
  const auto record =
      layout::load<layout::Block>(std::as_bytes(std::span(words_)), at * sizeof(std::uint64_t));
  Block block = {.key = record.key,
                 .offset = record.offset,
                 .raw_bytes = record.raw_bytes,
                 .stored_bytes = record.stored_bytes,
                 .checksum = record.checksum,
                 .codec = static_cast<Codec>(record.codec())};
  const std::uint64_t pieces = block.pieces();
  if (pieces > 1) {
    const auto words = std::span(words_).subspan(pieces_offset_ + record.first_word());
    block.piece_checksums = words.first(pieces);
    if (block.codec != Codec::kNone) block.piece_ends = words.subspan(pieces, pieces);
  }
  return block;
}

std::optional<std::uint64_t> Index::find_part(std::uint32_t field,
                                              std::uint64_t part) const noexcept {
  const IndexField& in = fields_[field];
  if (in.definition.kind != FieldKind::kParts) return std::nullopt;
  std::uint64_t first = 0;
  std::uint64_t last = in.blocks;
  while (first < last) {
    const std::uint64_t middle = first + (last - first) / 2;
    if (key_of(in, middle) < part) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (first == in.blocks || key_of(in, first) != part) return std::nullopt;
  return first;
}

Coordinates Index::shape(std::uint32_t field, std::uint64_t number) const {
  const IndexField& in = fields_[field];
  const std::size_t dimensions = in.definition.dimensions;
  if (dimensions == 0) return {};
  if (dimensions == 1) return {block(field, number).raw_bytes / element_size(in.definition.type)};
  const std::uint64_t at =
      dims_offset_ + in.first_dim + in.definition.shape.size() + number * dimensions;
  const auto dims = std::span(words_).subspan(at, dimensions);
  return {dims.begin(), dims.end()};
}

Box Index::box(std::uint32_t field, std::uint64_t number) const {
  const IndexField& in = fields_[field];
  FOREBAY_ASSERT(in.definition.kind == FieldKind::kGlobal);
  const FixedCoordinates start = coordinates_of(key_of(in, number), in.definition.shape);
  return {{start.begin(), start.begin() + in.definition.dimensions}, shape(field, number)};
}

BlockSeed Index::seed(std::uint32_t field, std::uint64_t number) const {
  const IndexField& in = fields_[field];
  if (in.definition.kind == FieldKind::kParts) return part_seed(seeds_[field], key_of(in, number));
  const Box where = box(field, number);
  return array_seed(seeds_[field], where.start, where.count);
}

std::vector<std::uint64_t> Index::find_blocks(std::uint32_t field, const Box& box) const {
  const IndexField& in = fields_[field];
  FOREBAY_ASSERT(in.definition.kind == FieldKind::kGlobal);
  FOREBAY_ASSERT(box.start.size() == in.definition.dimensions);
  std::vector<std::uint64_t> found;
  if (std::ranges::count(box.count, 0U) != 0) return found;
  for (const std::uint64_t number : trees_[field].candidates(box))
    if (has_overlap(this->box(field, number), box)) found.push_back(number);
  return found;
}

}  // namespace forebay::format
