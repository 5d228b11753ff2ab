// SPDX-License-Identifier: Apache-2.0
#include "format/index_builder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "format/checksum.hpp"
#include "format/layout.hpp"

namespace forebay::format {
namespace {

tl::unexpected<Error> invalid_block_error(const FieldDefinition& field, const std::string& cause) {
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
  if (block.start.size() != field.dimensions)
    return invalid_block_error(field, "its start has another number of dimensions");
  for (std::size_t d = 0; d < field.dimensions; ++d) {
    const bool is_inside =
        block.start[d] <= field.shape[d] && block.shape[d] <= field.shape[d] - block.start[d];
    if (!is_inside)
      return invalid_block_error(
          field, "in dimension " + std::to_string(d) +
                     " it exceeds the array: " + std::to_string(block.start[d]) + " + " +
                     std::to_string(block.shape[d]) + " > " + std::to_string(field.shape[d]));
  }
  return {};
}

Status check_pieces(const FieldDefinition& field, const NewBlock& block) {
  const std::uint64_t pieces = piece_count(block.raw_bytes);
  if (pieces > 1 && block.piece_checksums.size() != pieces)
    return invalid_block_error(field, std::to_string(pieces) + " pieces have " +
                                          std::to_string(block.piece_checksums.size()) +
                                          " checksums");
  if (block.codec == Codec::kNone) {
    if (block.stored_bytes != block.raw_bytes)
      return invalid_block_error(field, "stored bytes differ from raw bytes without a codec");
    return {};
  }
  if (block.stored_bytes > block.raw_bytes)
    return invalid_block_error(field, "it has more stored than raw bytes");
  if (pieces > 1 && block.piece_ends.size() != pieces)
    return invalid_block_error(field, "the number of piece ends is wrong");
  if (pieces > 1 && block.piece_ends.back() != block.stored_bytes)
    return invalid_block_error(field, "its last piece does not end with it");
  return {};
}

}  // namespace

IndexBuilder::IndexBuilder(const IndexId& id, const StepMetadata& metadata)
    : id_(id), metadata_(metadata) {}

Result<FieldNumber> IndexBuilder::add_field(const FieldDefinition& field) {
  if (Status checked = check_field(field); !checked) return tl::unexpected(checked.error());
  const auto found = names_.find(field.name);
  if (found != names_.end()) {
    if (fields_[found->second] == field) return FieldNumber{found->second};
    return failure(
        {.kind = ErrorClass::kInvalidArgument,
         .operation = "define field " + field.name,
         .cause = "it is defined already, with another type, byte order, kind, or shape"});
  }
  if (fields_.size() == kFieldsMax)
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "define field " + field.name,
                    .cause = "a step has at most 65536 fields in a file"});
  const auto number = checked_cast<std::uint32_t>(fields_.size());
  names_.emplace(field.name, number);
  fields_.push_back(field);
  names_bytes_ += field.name.size();
  dims_total_ += field.shape.size();
  return FieldNumber{number};
}

Status IndexBuilder::check_block(const FieldDefinition& field, const NewBlock& block) const {
  if (block.offset % kBlockAlignmentBytes != 0 || block.offset < kPageBytes)
    return invalid_block_error(
        field, "offset " + std::to_string(block.offset) + " is not valid for a block");
  if (block.shape.size() != field.dimensions)
    return invalid_block_error(field, "its shape has another number of dimensions");
  if (array_bytes(field.type, block.shape) != block.raw_bytes)
    return invalid_block_error(field,
                               std::to_string(block.raw_bytes) + " bytes do not match its shape");
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
  BlockEntry entry = {.field = index,
                      .codec = block.codec,
                      .key = key_of(field, block),
                      .offset = block.offset,
                      .raw_bytes = block.raw_bytes,
                      .stored_bytes = block.stored_bytes,
                      .checksum = block.checksum,
                      .first_word = words_.size(),
                      .first_dim = dims_.size()};
  if (piece_count(block.raw_bytes) > 1) {
    words_.insert(words_.end(), block.piece_checksums.begin(), block.piece_checksums.end());
    if (block.codec != Codec::kNone)
      words_.insert(words_.end(), block.piece_ends.begin(), block.piece_ends.end());
  }
  if (field.dimensions > 1) dims_.insert(dims_.end(), block.shape.begin(), block.shape.end());
  dims_total_ += field.dimensions > 1 ? field.dimensions : 0;
  raw_bytes_ += block.raw_bytes;
  stored_bytes_ += block.stored_bytes;
  blocks_.push_back(entry);
  return {};
}

std::uint64_t IndexBuilder::bytes() const noexcept {
  return sizeof(layout::IndexHeader) + fields_.size() * sizeof(layout::Field) +
         blocks_.size() * sizeof(layout::Block) +
         (words_.size() + dims_total_) * layout::kWordBytes +
         round_up(names_bytes_, layout::kWordBytes) + layout::kWordBytes;
}

std::uint64_t IndexBuilder::encoded_bytes() const noexcept {
  return round_up(bytes(), kPageBytes) + round_up(attributes_.encoded_bytes(), kPageBytes);
}

/// Fills the sections of an index one after another, each from its start.
class IndexEncoder {
 public:
  IndexEncoder(const IndexBuilder& from, std::uint64_t offset)
      : builder_(from), offset_(offset), bytes_(from.encoded_bytes()) {}

  Result<std::vector<std::byte>> encode() {
    sort();
    for (std::size_t i = 1; i < blocks_.size(); ++i)
      if (is_same_block(blocks_[i - 1], blocks_[i])) return duplicate_block_error(blocks_[i]);
    put_header();
    put_sections();
    put_attributes();
    const std::uint64_t end = builder_.bytes() - layout::kWordBytes;
    put(metadata_checksum(kIndexMagic, std::span(bytes_).first(end)), end);
    return std::move(bytes_);
  }

 private:
  using BlockEntry = IndexBuilder::BlockEntry;

  void sort() {
    for (const auto& [name, number] : builder_.names_)  // a map: ascending already
      field_order_.push_back(number);
    std::vector<std::uint32_t> ranks(field_order_.size());
    for (std::uint32_t rank = 0; rank < field_order_.size(); ++rank)
      ranks[field_order_[rank]] = rank;
    blocks_ = builder_.blocks_;
    std::ranges::sort(blocks_, [&](const BlockEntry& a, const BlockEntry& b) {
      return std::pair(ranks[a.field], a.key) < std::pair(ranks[b.field], b.key);
    });
  }
  static bool is_same_block(const BlockEntry& a, const BlockEntry& b) {
    return a.field == b.field && a.key == b.key;
  }
  tl::unexpected<Error> duplicate_block_error(const BlockEntry& block) const {
    const FieldDefinition& field = builder_.fields_[block.field];
    const bool is_part = field.kind == FieldKind::kParts;
    return invalid_block_error(field, (is_part ? "part " : "the block at element ") +
                                          std::to_string(block.key) + " was written twice");
  }

  void put_header();
  void put_sections();
  void put_attributes();
  void put_field(const FieldDefinition& field, std::span<const BlockEntry> blocks);
  void put_block(const BlockEntry& block);
  void put_dims(std::span<const std::uint64_t> dims) {
    if (dims.empty()) return;
    std::memcpy(bytes_.data() + dims_offset_, dims.data(), dims.size_bytes());
    dims_offset_ += dims.size_bytes();
  }
  template <class Record>
  void put(const Record& record, std::uint64_t at) {
    layout::store(record, std::span(bytes_), at);
  }

  const IndexBuilder& builder_;
  const std::uint64_t offset_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> field_order_;  ///< numbers of fields, in the order of their names
  std::vector<BlockEntry> blocks_;
  // Offsets of the next record of each section.
  std::uint64_t fields_offset_ = sizeof(layout::IndexHeader);
  std::uint64_t blocks_offset_ = 0;
  std::uint64_t words_begin_ = 0;
  std::uint64_t words_offset_ = 0;
  std::uint64_t dims_begin_ = 0;
  std::uint64_t dims_offset_ = 0;
  std::uint64_t names_begin_ = 0;
  std::uint64_t names_offset_ = 0;
  std::uint64_t blocks_written_ = 0;
};

void IndexEncoder::put_header() {
  layout::IndexHeader head;
  head.common.dataset = builder_.id_.dataset;
  head.step = builder_.id_.step;
  head.group = builder_.id_.group;
  head.file = builder_.id_.file;
  head.fields = checked_cast<std::uint32_t>(builder_.fields_.size());
  head.blocks = blocks_.size();
  head.words = builder_.words_.size();
  head.dims = builder_.dims_total_;
  head.names_bytes = builder_.names_bytes_;
  head.bytes = builder_.bytes();
  head.offset = offset_;
  head.raw_bytes = builder_.raw_bytes_;
  head.stored_bytes = builder_.stored_bytes_;
  head.wall_ns = builder_.metadata_.wall_ns;
  head.writers = builder_.metadata_.writers;
  head.files = builder_.metadata_.files;
  head.strategy = builder_.metadata_.strategy;
  put(head, 0);
}

/// Adds the attributes to the header, and their bytes behind the index.
void IndexEncoder::put_attributes() {
  if (builder_.attributes_.empty()) return;
  const std::vector<std::byte> encoded = builder_.attributes_.encode();
  auto head = layout::load<layout::IndexHeader>(bytes_);
  head.common.minor = kAttributesMinorVersion;
  head.attributes_bytes = encoded.size();
  head.attributes_checksum = metadata_checksum(kAttributesMagic, encoded);
  put(head, 0);
  std::memcpy(bytes_.data() + round_up(builder_.bytes(), kPageBytes), encoded.data(),
              encoded.size());
}

void IndexEncoder::put_sections() {
  blocks_offset_ = fields_offset_ + builder_.fields_.size() * sizeof(layout::Field);
  words_offset_ = words_begin_ = blocks_offset_ + blocks_.size() * sizeof(layout::Block);
  dims_offset_ = dims_begin_ = words_offset_ + builder_.words_.size() * layout::kWordBytes;
  names_offset_ = names_begin_ = dims_offset_ + builder_.dims_total_ * layout::kWordBytes;
  for (const std::uint32_t number : field_order_) {
    const auto begin = blocks_.begin() + static_cast<std::ptrdiff_t>(blocks_written_);
    const auto end = std::find_if(begin, blocks_.end(),
                                  [&](const BlockEntry& block) { return block.field != number; });
    put_field(builder_.fields_[number], {begin, end});
  }
}

void IndexEncoder::put_field(const FieldDefinition& field, std::span<const BlockEntry> blocks) {
  put(layout::Field{.first_block = blocks_written_,
                    .blocks = blocks.size(),
                    .first_dim = (dims_offset_ - dims_begin_) / layout::kWordBytes,
                    .name_offset = checked_cast<std::uint32_t>(names_offset_ - names_begin_),
                    .name_bytes = checked_cast<std::uint16_t>(field.name.size()),
                    .type = static_cast<std::uint8_t>(field.type),
                    .order = static_cast<std::uint8_t>(field.order),
                    .kind = static_cast<std::uint8_t>(field.kind),
                    .dimensions = checked_cast<std::uint8_t>(field.dimensions)},
      fields_offset_);
  fields_offset_ += sizeof(layout::Field);
  std::memcpy(bytes_.data() + names_offset_, field.name.data(), field.name.size());
  names_offset_ += field.name.size();
  put_dims(field.shape);
  for (const BlockEntry& block : blocks) {
    put_block(block);
    if (field.dimensions > 1)
      put_dims(std::span(builder_.dims_).subspan(block.first_dim, field.dimensions));
  }
  blocks_written_ += blocks.size();
}

void IndexEncoder::put_block(const BlockEntry& block) {
  const std::uint64_t first_word = (words_offset_ - words_begin_) / layout::kWordBytes;
  const auto codec = static_cast<std::uint64_t>(block.codec) << layout::Block::kCodecShift;
  put(layout::Block{.key = block.key,
                    .offset = block.offset,
                    .raw_bytes = block.raw_bytes,
                    .stored_bytes = block.stored_bytes,
                    .checksum = block.checksum,
                    .first_word_and_codec = first_word | codec},
      blocks_offset_);
  blocks_offset_ += sizeof(layout::Block);
  const std::uint64_t pieces = piece_count(block.raw_bytes);
  if (pieces < 2) return;
  const std::uint64_t words = block.codec == Codec::kNone ? pieces : 2 * pieces;
  std::memcpy(bytes_.data() + words_offset_, builder_.words_.data() + block.first_word,
              words * layout::kWordBytes);
  words_offset_ += words * layout::kWordBytes;
}

Result<std::vector<std::byte>> IndexBuilder::encode(std::uint64_t offset) const {
  FOREBAY_ASSERT(offset % kPageBytes == 0);
  for (const BlockEntry& block : blocks_)
    FOREBAY_ASSERT(block.offset + block.stored_bytes <= offset);
  return IndexEncoder(*this, offset).encode();
}

Reference IndexBuilder::reference_of(std::span<const std::byte> encoded) noexcept {
  const auto head = layout::load<layout::IndexHeader>(encoded);
  const auto checksum = layout::load<std::uint64_t>(encoded, head.bytes - layout::kWordBytes);
  return {head.offset, head.bytes, checksum};
}

}  // namespace forebay::format
