// SPDX-License-Identifier: Apache-2.0
#include "format/index_builder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "format/layout.hpp"

namespace forebay::format {
namespace {

tl::unexpected<Error> wrong(const FieldDefinition& field, const std::string& cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "add a block of field " + field.name + " to an index",
                  .cause = cause});
}

std::uint64_t key_of(const FieldDefinition& field, const NewBlock& block) noexcept {
  if (field.kind == FieldKind::kParts) return block.part;
  std::uint64_t key = 0;
  for (std::size_t d = 0; d < field.shape.size(); ++d)
    key = key * field.shape[d] + block.start[d];
  return key;
}

Status check_box(const FieldDefinition& field, const NewBlock& block) {
  if (block.start.size() != field.dimensions) return wrong(field, "its start has other dimensions");
  for (std::size_t d = 0; d < field.dimensions; ++d) {
    const bool lies_inside =
        block.start[d] <= field.shape[d] && block.shape[d] <= field.shape[d] - block.start[d];
    if (!lies_inside)
      return wrong(field, "in dimension " + std::to_string(d) +
                              " it reaches past the array: " + std::to_string(block.start[d]) +
                              " + " + std::to_string(block.shape[d]) + " > " +
                              std::to_string(field.shape[d]));
  }
  return {};
}

Status check_pieces(const FieldDefinition& field, const NewBlock& block) {
  const std::uint64_t pieces = piece_count(block.raw_bytes);
  if (pieces > 1 && block.piece_checksums.size() != pieces)
    return wrong(field, std::to_string(pieces) + " pieces have " +
                            std::to_string(block.piece_checksums.size()) + " checksums");
  if (block.codec == Codec::kNone) {
    if (block.stored_bytes != block.raw_bytes) return wrong(field, "stored bytes without a codec");
    return {};
  }
  if (block.stored_bytes > block.raw_bytes) return wrong(field, "it grew");
  if (pieces > 1 && block.piece_ends.size() != pieces) return wrong(field, "ends of pieces");
  if (pieces > 1 && block.piece_ends.back() != block.stored_bytes)
    return wrong(field, "its last piece does not end with it");
  return {};
}

}  // namespace

IndexBuilder::IndexBuilder(const IndexPlace& place, const StepFacts& facts)
    : place_(place), facts_(facts) {}

Result<FieldNumber> IndexBuilder::add_field(const FieldDefinition& field) {
  if (Status checked = check_field(field); !checked) return tl::unexpected(checked.error());
  const auto found = names_.find(field.name);
  if (found != names_.end()) {
    if (fields_[found->second] == field) return FieldNumber{found->second};
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "define field " + field.name,
                    .cause = "it has another type, byte order, kind, or shape already"});
  }
  if (fields_.size() == kFieldsMax)
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "define field " + field.name,
                    .cause = "a step has at most 65536 fields in a file"});
  const auto number = checked_cast<std::uint32_t>(fields_.size());
  names_.emplace(field.name, number);
  fields_.push_back(field);
  names_bytes_ += field.name.size();
  numbers_total_ += field.shape.size();
  return FieldNumber{number};
}

Status IndexBuilder::check_block(const FieldDefinition& field, const NewBlock& block) const {
  if (block.offset % kBlockAlignmentBytes != 0 || block.offset < kPageBytes)
    return wrong(field, "no block lies at offset " + std::to_string(block.offset));
  if (block.shape.size() != field.dimensions) return wrong(field, "its shape has other dimensions");
  if (array_bytes(field.type, block.shape) != block.raw_bytes)
    return wrong(field, std::to_string(block.raw_bytes) + " bytes are not those of its shape");
  if (field.kind == FieldKind::kGlobal)
    if (Status inside = check_box(field, block); !inside) return inside;
  return check_pieces(field, block);
}

Status IndexBuilder::add_block(FieldNumber number, const NewBlock& block) {
  const auto index = static_cast<std::uint32_t>(number);
  FOREBAY_ASSERT(index < fields_.size());
  const FieldDefinition& field = fields_[index];
  if (Status checked = check_block(field, block); !checked) return checked;
  if (field.kind == FieldKind::kGlobal && block.raw_bytes == 0) return {};
  Held held = {.field = index,
               .codec = block.codec,
               .key = key_of(field, block),
               .offset = block.offset,
               .raw_bytes = block.raw_bytes,
               .stored_bytes = block.stored_bytes,
               .checksum = block.checksum,
               .first_word = words_.size(),
               .first_number = numbers_.size()};
  if (piece_count(block.raw_bytes) > 1) {
    words_.insert(words_.end(), block.piece_checksums.begin(), block.piece_checksums.end());
    if (block.codec != Codec::kNone)
      words_.insert(words_.end(), block.piece_ends.begin(), block.piece_ends.end());
  }
  if (field.dimensions > 1) numbers_.insert(numbers_.end(), block.shape.begin(), block.shape.end());
  numbers_total_ += field.dimensions > 1 ? field.dimensions : 0;
  raw_bytes_ += block.raw_bytes;
  stored_bytes_ += block.stored_bytes;
  blocks_.push_back(held);
  return {};
}

std::uint64_t IndexBuilder::bytes() const noexcept {
  return sizeof(layout::IndexHead) + fields_.size() * sizeof(layout::Field) +
         blocks_.size() * sizeof(layout::Block) +
         (words_.size() + numbers_total_) * layout::kWordBytes +
         round_up(names_bytes_, layout::kWordBytes) + layout::kWordBytes;
}

std::uint64_t IndexBuilder::encoded_bytes() const noexcept { return round_up(bytes(), kPageBytes); }

/// Fills the sections of an index one after another, each from its own place on.
class IndexEncoder {
 public:
  IndexEncoder(const IndexBuilder& from, std::uint64_t offset)
      : from_(from), offset_(offset), bytes_(from.encoded_bytes()) {}

  Result<std::vector<std::byte>> encode() {
    sort();
    for (std::size_t i = 1; i < blocks_.size(); ++i)
      if (same_place(blocks_[i - 1], blocks_[i])) return twice(blocks_[i]);
    put_head();
    put_sections();
    const std::uint64_t end = from_.bytes() - layout::kWordBytes;
    put(metadata_checksum(kIndexMagic, std::span(bytes_).first(end)), end);
    return std::move(bytes_);
  }

 private:
  using Held = IndexBuilder::Held;

  void sort() {
    for (const auto& [name, number] : from_.names_)  // a map: they rise already
      order_.push_back(number);
    std::vector<std::uint32_t> ranks(order_.size());
    for (std::uint32_t rank = 0; rank < order_.size(); ++rank)
      ranks[order_[rank]] = rank;
    blocks_ = from_.blocks_;
    std::ranges::sort(blocks_, [&](const Held& a, const Held& b) {
      return std::pair(ranks[a.field], a.key) < std::pair(ranks[b.field], b.key);
    });
  }
  static bool same_place(const Held& a, const Held& b) {
    return a.field == b.field && a.key == b.key;
  }
  tl::unexpected<Error> twice(const Held& block) const {
    const FieldDefinition& field = from_.fields_[block.field];
    const bool is_part = field.kind == FieldKind::kParts;
    return wrong(field, (is_part ? "part " : "the block at element ") + std::to_string(block.key) +
                            " was written twice");
  }

  void put_head();
  void put_sections();
  void put_field(const FieldDefinition& field, std::span<const Held> blocks);
  void put_block(const Held& block);
  void put_numbers(std::span<const std::uint64_t> numbers) {
    if (numbers.empty()) return;
    std::memcpy(bytes_.data() + numbers_at_, numbers.data(), numbers.size_bytes());
    numbers_at_ += numbers.size_bytes();
  }
  template <class Record>
  void put(const Record& record, std::uint64_t at) {
    layout::store(record, std::span(bytes_), at);
  }

  const IndexBuilder& from_;
  const std::uint64_t offset_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> order_;  ///< numbers of fields by their names
  std::vector<Held> blocks_;
  // Where the next record of a section goes.
  std::uint64_t fields_at_ = sizeof(layout::IndexHead);
  std::uint64_t blocks_at_ = 0;
  std::uint64_t words_begin_ = 0;
  std::uint64_t words_at_ = 0;
  std::uint64_t numbers_begin_ = 0;
  std::uint64_t numbers_at_ = 0;
  std::uint64_t names_begin_ = 0;
  std::uint64_t names_at_ = 0;
  std::uint64_t blocks_done_ = 0;
};

void IndexEncoder::put_head() {
  layout::IndexHead head;
  head.start.dataset = from_.place_.dataset;
  head.step = from_.place_.step;
  head.group = from_.place_.group;
  head.file = from_.place_.file;
  head.fields = checked_cast<std::uint32_t>(from_.fields_.size());
  head.blocks = blocks_.size();
  head.words = from_.words_.size();
  head.numbers = from_.numbers_total_;
  head.names_bytes = from_.names_bytes_;
  head.bytes = from_.bytes();
  head.offset = offset_;
  head.raw_bytes = from_.raw_bytes_;
  head.stored_bytes = from_.stored_bytes_;
  head.wall_ns = from_.facts_.wall_ns;
  head.writers = from_.facts_.writers;
  head.files = from_.facts_.files;
  head.strategy = from_.facts_.strategy;
  put(head, 0);
}

void IndexEncoder::put_sections() {
  blocks_at_ = fields_at_ + from_.fields_.size() * sizeof(layout::Field);
  words_at_ = words_begin_ = blocks_at_ + blocks_.size() * sizeof(layout::Block);
  numbers_at_ = numbers_begin_ = words_at_ + from_.words_.size() * layout::kWordBytes;
  names_at_ = names_begin_ = numbers_at_ + from_.numbers_total_ * layout::kWordBytes;
  for (const std::uint32_t number : order_) {
    const auto begin = blocks_.begin() + static_cast<std::ptrdiff_t>(blocks_done_);
    const auto end = std::find_if(begin, blocks_.end(),
                                  [&](const Held& block) { return block.field != number; });
    put_field(from_.fields_[number], {begin, end});
  }
}

void IndexEncoder::put_field(const FieldDefinition& field, std::span<const Held> blocks) {
  put(layout::Field{.first_block = blocks_done_,
                    .blocks = blocks.size(),
                    .first_number = (numbers_at_ - numbers_begin_) / layout::kWordBytes,
                    .name_at = checked_cast<std::uint32_t>(names_at_ - names_begin_),
                    .name_bytes = checked_cast<std::uint16_t>(field.name.size()),
                    .type = static_cast<std::uint8_t>(field.type),
                    .order = static_cast<std::uint8_t>(field.order),
                    .kind = static_cast<std::uint8_t>(field.kind),
                    .dimensions = checked_cast<std::uint8_t>(field.dimensions)},
      fields_at_);
  fields_at_ += sizeof(layout::Field);
  std::memcpy(bytes_.data() + names_at_, field.name.data(), field.name.size());
  names_at_ += field.name.size();
  put_numbers(field.shape);
  for (const Held& block : blocks) {
    put_block(block);
    if (field.dimensions > 1)
      put_numbers(std::span(from_.numbers_).subspan(block.first_number, field.dimensions));
  }
  blocks_done_ += blocks.size();
}

void IndexEncoder::put_block(const Held& block) {
  const std::uint64_t first_word = (words_at_ - words_begin_) / layout::kWordBytes;
  const auto codec = static_cast<std::uint64_t>(block.codec) << layout::Block::kCodecShift;
  put(layout::Block{.key = block.key,
                    .offset = block.offset,
                    .raw_bytes = block.raw_bytes,
                    .stored_bytes = block.stored_bytes,
                    .checksum = block.checksum,
                    .first_word_and_codec = first_word | codec},
      blocks_at_);
  blocks_at_ += sizeof(layout::Block);
  const std::uint64_t pieces = piece_count(block.raw_bytes);
  if (pieces < 2) return;
  const std::uint64_t words = block.codec == Codec::kNone ? pieces : 2 * pieces;
  std::memcpy(bytes_.data() + words_at_, from_.words_.data() + block.first_word,
              words * layout::kWordBytes);
  words_at_ += words * layout::kWordBytes;
}

Result<std::vector<std::byte>> IndexBuilder::encode(std::uint64_t offset) const {
  FOREBAY_ASSERT(offset % kPageBytes == 0);
  for (const Held& block : blocks_)
    FOREBAY_ASSERT(block.offset + block.stored_bytes <= offset);
  return IndexEncoder(*this, offset).encode();
}

Reference IndexBuilder::reference_of(std::span<const std::byte> encoded) noexcept {
  const auto head = layout::load<layout::IndexHead>(encoded);
  const auto checksum = layout::load<std::uint64_t>(encoded, head.bytes - layout::kWordBytes);
  return {head.offset, head.bytes, checksum};
}

}  // namespace forebay::format
