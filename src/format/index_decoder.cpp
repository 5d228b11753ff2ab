// SPDX-License-Identifier: Apache-2.0
// Index::decode(): finds all damage of an index, so later accesses need no checks. Each block is
// checked once, without an allocation.
#include <algorithm>

#include "format/attributes.hpp"
#include "format/decode_context.hpp"
#include "format/index.hpp"
#include "format/layout.hpp"

namespace forebay::format {
namespace {

/// Size of the sections according to the header; its counts are below 2^40.
std::uint64_t expected_bytes(const layout::IndexHeader& head) noexcept {
  return head.common.header_bytes + head.fields * sizeof(layout::Field) +
         head.blocks * sizeof(layout::Block) + (head.words + head.dims) * layout::kWordBytes +
         round_up(head.names_bytes, layout::kWordBytes) + layout::kWordBytes;
}

bool has_plausible_sizes(const layout::IndexHeader& head) noexcept {
  const std::uint32_t header_bytes = head.common.header_bytes;
  if (header_bytes < sizeof head || header_bytes > kPageBytes ||
      header_bytes % layout::kWordBytes != 0)
    return false;
  if (head.bytes > kIndexBytesMax || head.bytes % layout::kWordBytes != 0) return false;
  if (head.fields > kFieldsMax) return false;
  const std::uint64_t counts[] = {head.blocks, head.words, head.dims, head.names_bytes};
  if (std::ranges::any_of(counts, [&](std::uint64_t count) { return count > head.bytes; }))
    return false;
  return expected_bytes(head) == head.bytes;
}

/// Behind the index. Before version 1.1, these bytes of the header had no meaning.
Reference attributes_of(const layout::IndexHeader& record) noexcept {
  if (record.common.minor < kAttributesMinorVersion || record.attributes_bytes == 0) return {};
  return {record.offset + round_up(record.bytes, kPageBytes), record.attributes_bytes,
          record.attributes_checksum};
}

IndexHeader header_of(const layout::IndexHeader& record) noexcept {
  return {.id = {record.common.dataset, record.step, record.group, record.file},
          .metadata = {record.wall_ns, record.writers, record.files, record.strategy},
          .offset = record.offset,
          .bytes = record.bytes,
          .raw_bytes = record.raw_bytes,
          .stored_bytes = record.stored_bytes,
          .attributes = attributes_of(record)};
}

/// Loads the header from the start of an index, without checking its checksum.
Result<layout::IndexHeader> load_header(std::span<const std::byte> bytes,
                                        const DecodeContext& context) {
  if (bytes.size() < sizeof(layout::IndexHeader))
    return context.make_error(ErrorClass::kShortFile, bytes.size(),
                              "the index ends inside its header");
  const auto record = layout::load<layout::IndexHeader>(bytes);
  if (record.common.magic != kIndexMagic)
    return context.damage_error(0, "it does not begin with FbyIndex");
  return record;
}

}  // namespace

Result<IndexHeader> decode_index_header(std::span<const std::byte> page, const std::string& path) {
  const DecodeContext context = {"index", path};
  const auto record = load_header(page, context);
  if (!record) return tl::unexpected(record.error());
  if (!has_plausible_sizes(*record)) return context.damage_error(12, "its sizes are inconsistent");
  return header_of(*record);
}

/// Fills an Index from its bytes, section by section.
class IndexDecoder {
 public:
  IndexDecoder(std::span<const std::byte> bytes, const DecodeContext& context)
      : bytes_(bytes), context_(context) {}

  Result<Index> decode() {
    Status done = read_header();
    if (done) done = read_fields();
    if (done) done = check_blocks();
    if (done) done = check_totals();
    if (!done) return tl::unexpected(done.error());
    build_trees();
    return std::move(index_);
  }

 private:
  Status read_header();
  Status check_checksum() const;
  void locate_sections();
  Status read_fields();
  Status read_field(const layout::Field& record, std::uint64_t at);
  Status check_blocks();
  Status check_block(std::uint32_t field, std::uint64_t number);
  Status check_pieces(const Block& block, std::uint64_t at);
  Status check_shape(const IndexField& field, const Block& block, std::uint64_t number);
  Status check_box(const IndexField& field, std::uint64_t number, std::uint64_t at) const;
  Status check_totals() const;
  void build_trees();

  std::uint64_t field_offset(std::uint64_t field) const {
    return record_.common.header_bytes + field * sizeof(layout::Field);
  }
  std::uint64_t block_offset(std::uint64_t block) const {
    return (index_.blocks_offset_ * layout::kWordBytes) + block * sizeof(layout::Block);
  }
  std::string describe_block(const IndexField& field, std::uint64_t key) const {
    const bool is_part = field.definition.kind == FieldKind::kParts;
    return "step " + std::to_string(record_.step) + ", field " + field.definition.name +
           (is_part ? ", part " : ", block at element ") + std::to_string(key) + ": ";
  }

  std::span<const std::byte> bytes_;
  const DecodeContext& context_;
  layout::IndexHeader record_ = {};
  Index index_;
  std::string_view names_;
  // Numbers of processed blocks, words, dimensions and name bytes: the next field, block or piece
  // begins there.
  std::uint64_t blocks_ = 0;
  std::uint64_t words_ = 0;
  std::uint64_t dims_ = 0;
  std::uint64_t names_bytes_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t stored_bytes_ = 0;
};

Status IndexDecoder::read_header() {
  auto record = load_header(bytes_, context_);
  if (!record) return tl::unexpected(record.error());
  record_ = *record;
  if (record_.bytes < sizeof record_ + layout::kWordBytes || record_.bytes > kIndexBytesMax ||
      record_.bytes % layout::kWordBytes != 0)
    return context_.damage_error(
        88, "it is not valid with " + std::to_string(record_.bytes) + " bytes");
  if (bytes_.size() < record_.bytes)
    return context_.make_error(ErrorClass::kShortFile, bytes_.size(),
                               "the index has " + std::to_string(record_.bytes) +
                                   " bytes, of which " +
                                   std::to_string(record_.bytes - bytes_.size()) + " are missing");
  if (Status checked = check_checksum(); !checked) return checked;
  if (record_.common.major > kMajorVersion) return context_.version_error(record_.common.major);
  if (!has_plausible_sizes(record_)) return context_.damage_error(12, "its sizes are inconsistent");
  if (record_.offset != context_.offset)
    return context_.damage_error(96, "it belongs to offset " + std::to_string(record_.offset));
  index_.header_ = header_of(record_);
  if (record_.files == 0 || record_.files > kFilesMax)
    return context_.damage_error(132,
                                 "a step cannot have " + std::to_string(record_.files) + " files");
  if (index_.header_.attributes.bytes > kAttributeTableBytesMax)
    return context_.damage_error(144, "its attributes have more than 16 MiB");
  locate_sections();
  return {};
}

Status IndexDecoder::check_checksum() const {
  const std::uint64_t end = record_.bytes - layout::kWordBytes;
  const auto checksum = layout::load<std::uint64_t>(bytes_, end);
  if (checksum == metadata_checksum(kIndexMagic, bytes_.first(end))) return {};
  return context_.damage_error(0, "the checksum of the index does not fit: some of its " +
                                      std::to_string(record_.bytes) + " bytes were changed");
}

void IndexDecoder::locate_sections() {
  index_.words_.resize(record_.bytes / layout::kWordBytes);
  std::memcpy(index_.words_.data(), bytes_.data(), record_.bytes);
  index_.blocks_ = record_.blocks;
  index_.blocks_offset_ = field_offset(record_.fields) / layout::kWordBytes;
  index_.pieces_offset_ = block_offset(record_.blocks) / layout::kWordBytes;
  index_.dims_offset_ = index_.pieces_offset_ + record_.words;
  const std::uint64_t names_at = index_.dims_offset_ + record_.dims;
  names_ = {reinterpret_cast<const char*>(index_.words_.data() + names_at), record_.names_bytes};
}

Status IndexDecoder::read_fields() {
  const StepSeed step = step_seed(record_.common.dataset, record_.step);
  for (std::uint32_t i = 0; i < record_.fields; ++i) {
    const std::uint64_t at = field_offset(i);
    if (Status read = read_field(layout::load<layout::Field>(bytes_, at), at); !read) return read;
    index_.seeds_.push_back(field_seed(step, index_.fields_.back().definition.name));
  }
  return {};
}

Status IndexDecoder::read_field(const layout::Field& record, std::uint64_t at) {
  if (record.first_block != blocks_ || record.blocks > record_.blocks - blocks_)
    return context_.damage_error(at,
                                 "blocks of a field do not follow those of the preceding field");
  blocks_ += record.blocks;
  if (record.name_offset != names_bytes_ || record.name_bytes > names_.size() - names_bytes_)
    return context_.damage_error(at + 24,
                                 "the name of a field does not follow that of the preceding field");
  if (record.type < kElementTypeMin || record.type > kElementTypeMax || record.order > 1 ||
      record.kind > 1 || record.dimensions > kDimensionsMax)
    return context_.damage_error(at + 30,
                                 "a field has no known type, byte order, kind or dimensions");
  IndexField field = {
      .definition = {.name = std::string(names_.substr(names_bytes_, record.name_bytes)),
                     .type = static_cast<ElementType>(record.type),
                     .order = static_cast<ByteOrder>(record.order),
                     .kind = static_cast<FieldKind>(record.kind),
                     .dimensions = record.dimensions},
      .first_block = record.first_block,
      .blocks = record.blocks,
      .first_dim = record.first_dim};
  names_bytes_ += record.name_bytes;
  const std::uint64_t own = field.definition.kind == FieldKind::kGlobal ? record.dimensions : 0;
  const std::uint64_t each = record.dimensions > 1 ? record.dimensions : 0;
  const std::uint64_t count = own + each * record.blocks;  // below 2^43
  if (record.first_dim != dims_ || count > record_.dims - dims_)
    return context_.damage_error(at + 16,
                                 "numbers of a field do not follow those of the preceding field");
  const auto shape = std::span(index_.words_).subspan(index_.dims_offset_ + dims_, own);
  field.definition.shape.assign(shape.begin(), shape.end());
  dims_ += count;
  if (const Status checked = check_field(field.definition); !checked)
    return context_.damage_error(at, checked.error().cause());
  if (!index_.fields_.empty() && index_.fields_.back().definition.name >= field.definition.name)
    return context_.damage_error(at + 24, "names of fields do not rise");
  index_.fields_.push_back(std::move(field));
  return {};
}

Status IndexDecoder::check_blocks() {
  if (blocks_ != record_.blocks)
    return context_.damage_error(56, "it counts more blocks than its fields have");
  for (std::uint32_t field = 0; field < index_.fields_.size(); ++field)
    for (std::uint64_t number = 0; number < index_.fields_[field].blocks; ++number)
      if (Status checked = check_block(field, number); !checked) return checked;
  return {};
}

Status IndexDecoder::check_block(std::uint32_t field, std::uint64_t number) {
  const IndexField& in = index_.fields_[field];
  const std::uint64_t at = block_offset(in.first_block + number);
  const auto record = layout::load<layout::Block>(bytes_, at);
  const auto wrong = [&](std::uint64_t within, const char* cause) {
    return context_.damage_error(at + within, describe_block(in, record.key) + cause);
  };
  if (number > 0 && index_.key_of(in, number - 1) >= record.key)
    return wrong(0, "blocks of a field do not rise");
  if (record.offset < kPageBytes || record.offset % kBlockAlignmentBytes != 0 ||
      record.offset > record_.offset || record.stored_bytes > record_.offset - record.offset)
    return wrong(8, "it is not between header and index");
  if (record.raw_bytes > kArrayBytesMax) return wrong(16, "it has more than 2^63 - 1 bytes");
  if (record.codec() > static_cast<std::uint8_t>(Codec::kZstd)) return wrong(47, "unknown codec");
  const auto codec = static_cast<Codec>(record.codec());
  const std::uint64_t pieces = piece_count(record.raw_bytes);
  const std::uint64_t words = pieces < 2 ? 0 : codec == Codec::kNone ? pieces : 2 * pieces;
  if (record.first_word() != words_ || words > record_.words - words_)
    return wrong(40, "its words do not follow those of the preceding block");
  words_ += words;
  const Block block = index_.block(field, number);
  if (Status checked = check_pieces(block, at); !checked) return checked;
  raw_bytes_ += block.raw_bytes;
  stored_bytes_ += block.stored_bytes;
  return check_shape(in, block, number);
}

Status IndexDecoder::check_pieces(const Block& block, std::uint64_t at) {
  const auto wrong = [&] {
    return context_.damage_error(at + 24, "stored bytes do not match raw bytes");
  };
  if (block.codec == Codec::kNone) {
    if (block.stored_bytes != block.raw_bytes) return wrong();
    return {};
  }
  if (block.stored_bytes > block.raw_bytes) return wrong();
  if ((block.stored_bytes == 0) != (block.raw_bytes == 0)) return wrong();
  std::uint64_t end = 0;
  for (std::uint64_t piece = 0; piece < block.piece_ends.size(); ++piece) {
    const std::uint64_t next = block.piece_ends[piece];
    if (next <= end || next - end > block.raw_range(piece).size) return wrong();
    end = next;
  }
  if (!block.piece_ends.empty() && end != block.stored_bytes) return wrong();
  return {};
}

Status IndexDecoder::check_shape(const IndexField& field,
                                 const Block& block,
                                 std::uint64_t number) {
  const std::uint64_t at = block_offset(field.first_block + number);
  const auto wrong = [&](const char* cause) {
    return context_.damage_error(at + 16, describe_block(field, block.key) + cause);
  };
  const std::uint64_t element_bytes = element_size(field.definition.type);
  const std::size_t dimensions = field.definition.dimensions;
  if (block.raw_bytes % element_bytes != 0) return wrong("its bytes are not whole elements");
  if (dimensions == 0 && block.raw_bytes != element_bytes) return wrong("it is not one element");
  if (dimensions > 1) {
    const std::uint64_t first =
        index_.dims_offset_ + field.first_dim + field.definition.shape.size() + number * dimensions;
    const auto shape = std::span(std::as_const(index_.words_)).subspan(first, dimensions);
    const auto bytes = array_bytes(field.definition.type, shape);
    if (bytes != block.raw_bytes) return wrong("its bytes do not match its shape");
  }
  if (field.definition.kind == FieldKind::kParts) return {};
  if (block.raw_bytes == 0) return wrong("an empty block of a global array");
  return check_box(field, number, at);
}

Status IndexDecoder::check_box(const IndexField& field,
                               std::uint64_t number,
                               std::uint64_t at) const {
  const std::span<const std::uint64_t> shape = field.definition.shape;
  const std::uint64_t key = index_.key_of(field, number);
  const auto wrong = [&] {
    return context_.damage_error(at, describe_block(field, key) + "it is outside its array");
  };
  if (std::ranges::count(shape, 0U) != 0) return wrong();
  std::uint64_t rest = key;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::uint64_t common = rest % shape[d];
    rest /= shape[d];
    const std::uint64_t first = index_.dims_offset_ + field.first_dim + shape.size();
    const std::uint64_t count = shape.size() == 1
                                    ? layout::load<layout::Block>(bytes_, at).raw_bytes /
                                          element_size(field.definition.type)
                                    : index_.words_[first + number * shape.size() + d];
    if (count > shape[d] - common) return wrong();
  }
  if (rest != 0) return wrong();
  return {};
}

Status IndexDecoder::check_totals() const {
  if (words_ != record_.words || dims_ != record_.dims || names_bytes_ != names_.size())
    return context_.damage_error(64, "words, numbers or names remain unused");
  if (raw_bytes_ != record_.raw_bytes || stored_bytes_ != record_.stored_bytes)
    return context_.damage_error(104, "its totals do not match its blocks");
  return {};
}

void IndexDecoder::build_trees() {
  for (std::uint32_t field = 0; field < index_.fields_.size(); ++field) {
    const bool is_global = index_.fields_[field].definition.kind == FieldKind::kGlobal;
    const auto box_of = [&](std::uint64_t number) { return index_.box(field, number); };
    index_.trees_.emplace_back(is_global ? index_.fields_[field].blocks : 0, box_of);
  }
}

Result<Index> Index::decode(std::span<const std::byte> bytes,
                            std::uint64_t offset,
                            const std::string& path) {
  const DecodeContext context = {"index", path, offset};
  return IndexDecoder(bytes, context).decode();
}

}  // namespace forebay::format
