// SPDX-License-Identifier: Apache-2.0
// Index::decode: everything that can be wrong with an index is found here, so that whoever looks
// into one afterwards needs no checks. Blocks are passed once, without an allocation for each.
#include <algorithm>

#include "format/damage.hpp"
#include "format/index.hpp"
#include "format/layout.hpp"

namespace forebay::format {
namespace {

/// Bytes that the sections take which the head counts; the counts are below 2^40.
std::uint64_t counted_bytes(const layout::IndexHead& head) noexcept {
  return head.start.head_bytes + head.fields * sizeof(layout::Field) +
         head.blocks * sizeof(layout::Block) + (head.words + head.numbers) * layout::kWordBytes +
         round_up(head.names_bytes, layout::kWordBytes) + layout::kWordBytes;
}

bool has_plausible_sizes(const layout::IndexHead& head) noexcept {
  const std::uint32_t head_bytes = head.start.head_bytes;
  if (head_bytes < sizeof head || head_bytes > kPageBytes || head_bytes % layout::kWordBytes != 0)
    return false;
  if (head.bytes > kIndexBytesMax || head.bytes % layout::kWordBytes != 0) return false;
  if (head.fields > kFieldsMax) return false;
  const std::uint64_t counts[] = {head.blocks, head.words, head.numbers, head.names_bytes};
  if (std::ranges::any_of(counts, [&](std::uint64_t count) { return count > head.bytes; }))
    return false;
  return counted_bytes(head) == head.bytes;
}

IndexHead head_of(const layout::IndexHead& record) noexcept {
  return {.place = {record.start.dataset, record.step, record.group, record.file},
          .facts = {record.wall_ns, record.writers, record.files, record.strategy},
          .offset = record.offset,
          .bytes = record.bytes,
          .raw_bytes = record.raw_bytes,
          .stored_bytes = record.stored_bytes};
}

/// Of the start of an index; not its checksum.
Result<layout::IndexHead> load_head(std::span<const std::byte> bytes, const Source& source) {
  if (bytes.size() < sizeof(layout::IndexHead))
    return source.failed(ErrorClass::kShortFile, bytes.size(), "the index ends in its head");
  const auto record = layout::load<layout::IndexHead>(bytes);
  if (record.start.magic != kIndexMagic) return source.damage(0, "it does not begin with FbyIndex");
  return record;
}

}  // namespace

Result<IndexHead> decode_index_head(std::span<const std::byte> page, const std::string& path) {
  const Source source = {"index", path};
  const auto record = load_head(page, source);
  if (!record) return tl::unexpected(record.error());
  if (!has_plausible_sizes(*record)) return source.damage(12, "its sizes contradict each other");
  return head_of(*record);
}

/// Fills an Index from its bytes, section by section.
class IndexDecoder {
 public:
  IndexDecoder(std::span<const std::byte> bytes, const Source& source)
      : bytes_(bytes), source_(source) {}

  Result<Index> decode() {
    Status done = read_head();
    if (done) done = read_fields();
    if (done) done = check_blocks();
    if (done) done = check_ends();
    if (!done) return tl::unexpected(done.error());
    plant_trees();
    return std::move(index_);
  }

 private:
  Status read_head();
  Status check_whole() const;
  void place_sections();
  Status read_fields();
  Status read_field(const layout::Field& record, std::uint64_t at);
  Status check_blocks();
  Status check_block(std::uint32_t field, std::uint64_t number);
  Status check_pieces(const Block& block, std::uint64_t at);
  Status check_shape(const IndexField& field, const Block& block, std::uint64_t number);
  Status check_box(const IndexField& field, std::uint64_t number, std::uint64_t at) const;
  Status check_ends() const;
  void plant_trees();

  std::uint64_t field_at(std::uint64_t field) const {
    return record_.start.head_bytes + field * sizeof(layout::Field);
  }
  std::uint64_t block_at(std::uint64_t block) const {
    return (index_.blocks_at_ * layout::kWordBytes) + block * sizeof(layout::Block);
  }
  std::string name_of_block(const IndexField& field, std::uint64_t key) const {
    const bool is_part = field.definition.kind == FieldKind::kParts;
    return "step " + std::to_string(record_.step) + ", field " + field.definition.name +
           (is_part ? ", part " : ", block at element ") + std::to_string(key) + ": ";
  }

  std::span<const std::byte> bytes_;
  const Source& source_;
  layout::IndexHead record_ = {};
  Index index_;
  std::string_view names_;
  // What has been passed: the next field, block, piece or number begins there.
  std::uint64_t blocks_ = 0;
  std::uint64_t words_ = 0;
  std::uint64_t numbers_ = 0;
  std::uint64_t names_bytes_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t stored_bytes_ = 0;
};

Status IndexDecoder::read_head() {
  auto record = load_head(bytes_, source_);
  if (!record) return tl::unexpected(record.error());
  record_ = *record;
  if (record_.bytes < sizeof record_ + layout::kWordBytes || record_.bytes > kIndexBytesMax ||
      record_.bytes % layout::kWordBytes != 0)
    return source_.damage(88, "it cannot have " + std::to_string(record_.bytes) + " bytes");
  if (bytes_.size() < record_.bytes)
    return source_.failed(ErrorClass::kShortFile, bytes_.size(),
                          "the index has " + std::to_string(record_.bytes) + " bytes, of which " +
                              std::to_string(record_.bytes - bytes_.size()) + " are missing");
  if (Status whole = check_whole(); !whole) return whole;
  if (record_.start.major > kMajorVersion) return source_.newer(record_.start.major);
  if (!has_plausible_sizes(record_)) return source_.damage(12, "its sizes contradict each other");
  if (record_.offset != source_.offset)
    return source_.damage(96, "it belongs to offset " + std::to_string(record_.offset));
  index_.head_ = head_of(record_);
  if (record_.files == 0 || record_.files > kFilesMax)
    return source_.damage(132, "a step cannot have " + std::to_string(record_.files) + " files");
  place_sections();
  return {};
}

Status IndexDecoder::check_whole() const {
  const std::uint64_t end = record_.bytes - layout::kWordBytes;
  const auto checksum = layout::load<std::uint64_t>(bytes_, end);
  if (checksum == metadata_checksum(kIndexMagic, bytes_.first(end))) return {};
  return source_.damage(0, "the checksum of the index does not fit: some of its " +
                               std::to_string(record_.bytes) + " bytes were changed");
}

void IndexDecoder::place_sections() {
  index_.words_.resize(record_.bytes / layout::kWordBytes);
  std::memcpy(index_.words_.data(), bytes_.data(), record_.bytes);
  index_.blocks_ = record_.blocks;
  index_.blocks_at_ = field_at(record_.fields) / layout::kWordBytes;
  index_.pieces_at_ = block_at(record_.blocks) / layout::kWordBytes;
  index_.numbers_at_ = index_.pieces_at_ + record_.words;
  const std::uint64_t names_at = index_.numbers_at_ + record_.numbers;
  names_ = {reinterpret_cast<const char*>(index_.words_.data() + names_at), record_.names_bytes};
}

Status IndexDecoder::read_fields() {
  const StepSeed step = step_seed(record_.start.dataset, record_.step);
  for (std::uint32_t i = 0; i < record_.fields; ++i) {
    const std::uint64_t at = field_at(i);
    if (Status read = read_field(layout::load<layout::Field>(bytes_, at), at); !read) return read;
    index_.seeds_.push_back(field_seed(step, index_.fields_.back().definition.name));
  }
  return {};
}

Status IndexDecoder::read_field(const layout::Field& record, std::uint64_t at) {
  if (record.first_block != blocks_ || record.blocks > record_.blocks - blocks_)
    return source_.damage(at, "blocks of a field do not follow those of the one before");
  blocks_ += record.blocks;
  if (record.name_at != names_bytes_ || record.name_bytes > names_.size() - names_bytes_)
    return source_.damage(at + 24, "the name of a field does not follow the one before");
  if (record.type < kElementTypeMin || record.type > kElementTypeMax || record.order > 1 ||
      record.kind > 1 || record.dimensions > kDimensionsMax)
    return source_.damage(at + 30, "a field has no known type, byte order, kind or dimensions");
  IndexField field = {
      .definition = {.name = std::string(names_.substr(names_bytes_, record.name_bytes)),
                     .type = static_cast<ElementType>(record.type),
                     .order = static_cast<ByteOrder>(record.order),
                     .kind = static_cast<FieldKind>(record.kind),
                     .dimensions = record.dimensions},
      .first_block = record.first_block,
      .blocks = record.blocks,
      .first_number = record.first_number};
  names_bytes_ += record.name_bytes;
  const std::uint64_t own = field.definition.kind == FieldKind::kGlobal ? record.dimensions : 0;
  const std::uint64_t each = record.dimensions > 1 ? record.dimensions : 0;
  const std::uint64_t count = own + each * record.blocks;  // below 2^43
  if (record.first_number != numbers_ || count > record_.numbers - numbers_)
    return source_.damage(at + 16, "numbers of a field do not follow those of the one before");
  const auto shape = std::span(index_.words_).subspan(index_.numbers_at_ + numbers_, own);
  field.definition.shape.assign(shape.begin(), shape.end());
  numbers_ += count;
  if (const Status checked = check_field(field.definition); !checked)
    return source_.damage(at, checked.error().cause());
  if (!index_.fields_.empty() && index_.fields_.back().definition.name >= field.definition.name)
    return source_.damage(at + 24, "names of fields do not rise");
  index_.fields_.push_back(std::move(field));
  return {};
}

Status IndexDecoder::check_blocks() {
  if (blocks_ != record_.blocks)
    return source_.damage(56, "it counts more blocks than its fields have");
  for (std::uint32_t field = 0; field < index_.fields_.size(); ++field)
    for (std::uint64_t number = 0; number < index_.fields_[field].blocks; ++number)
      if (Status checked = check_block(field, number); !checked) return checked;
  return {};
}

Status IndexDecoder::check_block(std::uint32_t field, std::uint64_t number) {
  const IndexField& in = index_.fields_[field];
  const std::uint64_t at = block_at(in.first_block + number);
  const auto record = layout::load<layout::Block>(bytes_, at);
  const auto wrong = [&](std::uint64_t within, const char* cause) {
    return source_.damage(at + within, name_of_block(in, record.key) + cause);
  };
  if (number > 0 && index_.key_of(in, number - 1) >= record.key)
    return wrong(0, "blocks of a field do not rise");
  if (record.offset < kPageBytes || record.offset % kBlockAlignmentBytes != 0 ||
      record.offset > record_.offset || record.stored_bytes > record_.offset - record.offset)
    return wrong(8, "it does not lie between header and index");
  if (record.raw_bytes > kArrayBytesMax) return wrong(16, "it has more than 2^63 - 1 bytes");
  if (record.codec() > static_cast<std::uint8_t>(Codec::kZstd)) return wrong(47, "unknown codec");
  const auto codec = static_cast<Codec>(record.codec());
  const std::uint64_t pieces = piece_count(record.raw_bytes);
  const std::uint64_t words = pieces < 2 ? 0 : codec == Codec::kNone ? pieces : 2 * pieces;
  if (record.first_word() != words_ || words > record_.words - words_)
    return wrong(40, "its words do not follow those of the block before");
  words_ += words;
  const Block block = index_.block(field, number);
  if (Status checked = check_pieces(block, at); !checked) return checked;
  raw_bytes_ += block.raw_bytes;
  stored_bytes_ += block.stored_bytes;
  return check_shape(in, block, number);
}

Status IndexDecoder::check_pieces(const Block& block, std::uint64_t at) {
  const auto wrong = [&] { return source_.damage(at + 24, "stored bytes do not suit raw bytes"); };
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
  const std::uint64_t at = block_at(field.first_block + number);
  const auto wrong = [&](const char* cause) {
    return source_.damage(at + 16, name_of_block(field, block.key) + cause);
  };
  const std::uint64_t element_bytes = bytes_of(field.definition.type);
  const std::size_t dimensions = field.definition.dimensions;
  if (block.raw_bytes % element_bytes != 0) return wrong("a part of an element");
  if (dimensions == 0 && block.raw_bytes != element_bytes) return wrong("it is not one element");
  if (dimensions > 1) {
    const std::uint64_t first = index_.numbers_at_ + field.first_number +
                                field.definition.shape.size() + number * dimensions;
    const auto shape = std::span(std::as_const(index_.words_)).subspan(first, dimensions);
    const auto bytes = array_bytes(field.definition.type, shape);
    if (bytes != block.raw_bytes) return wrong("its bytes are not those of its shape");
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
    return source_.damage(at, name_of_block(field, key) + "it does not lie in its array");
  };
  if (std::ranges::count(shape, 0U) != 0) return wrong();
  std::uint64_t rest = key;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::uint64_t start = rest % shape[d];
    rest /= shape[d];
    const std::uint64_t first = index_.numbers_at_ + field.first_number + shape.size();
    const std::uint64_t count =
        shape.size() == 1
            ? layout::load<layout::Block>(bytes_, at).raw_bytes / bytes_of(field.definition.type)
            : index_.words_[first + number * shape.size() + d];
    if (count > shape[d] - start) return wrong();
  }
  if (rest != 0) return wrong();
  return {};
}

Status IndexDecoder::check_ends() const {
  if (words_ != record_.words || numbers_ != record_.numbers || names_bytes_ != names_.size())
    return source_.damage(64, "words, numbers or names are left over");
  if (raw_bytes_ != record_.raw_bytes || stored_bytes_ != record_.stored_bytes)
    return source_.damage(104, "its sums are not those of its blocks");
  return {};
}

void IndexDecoder::plant_trees() {
  for (std::uint32_t field = 0; field < index_.fields_.size(); ++field) {
    const bool is_global = index_.fields_[field].definition.kind == FieldKind::kGlobal;
    const auto box_of = [&](std::uint64_t number) { return index_.box(field, number); };
    index_.trees_.emplace_back(is_global ? index_.fields_[field].blocks : 0, box_of);
  }
}

Result<Index> Index::decode(std::span<const std::byte> bytes,
                            std::uint64_t offset,
                            const std::string& path) {
  const Source source = {"index", path, offset};
  return IndexDecoder(bytes, source).decode();
}

}  // namespace forebay::format
