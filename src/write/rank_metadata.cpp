// SPDX-License-Identifier: Apache-2.0
// Metadata as bytes: counts, then the arrays one after the other.
#include "write/rank_metadata.hpp"

#include <utility>

#include "comm/message_bytes.hpp"
#include "write/messages.hpp"

namespace forebay::write {

namespace {

using comm::MessageReader;
using comm::MessageWriter;

/// Minimum size of a field in a message: two lengths, three enumerators and the dimensions.
constexpr std::size_t kFieldBytesMin = 23;
/// Of an AttributeHash: the scope, two lengths and the hash.
constexpr std::size_t kAttributeHashBytesMin = 25;

void write_value(MessageWriter& out, const std::vector<format::FieldDefinition>& fields) {
  out.number(std::uint64_t{fields.size()});
  for (const format::FieldDefinition& field : fields) {
    out.text(field.name);
    out.enumerator(field.type);
    out.enumerator(field.order);
    out.enumerator(field.kind);
    out.number(field.dimensions);
    out.list(std::span<const std::uint64_t>(field.shape));
  }
}

format::FieldDefinition read_field(MessageReader& in) {
  format::FieldDefinition field;
  field.name = in.text("field name");
  field.type = in.enumerator("field type", ElementType::kBytes);
  if (field.type < ElementType::kInt8) in.reject("field type", 0, "must be a known type");
  field.order = in.enumerator("field byte order", ByteOrder::kBig);
  field.kind = in.enumerator("field kind", format::FieldKind::kGlobal);
  field.dimensions = in.number<std::uint32_t>("field dimensions");
  field.shape = in.list<std::uint64_t>("field shape");
  if (!in.is_valid()) return field;
  if (const Status field_status = format::check_field(field); !field_status)
    in.reject("field dimensions", field.dimensions, field_status.error().message());
  return field;
}

std::vector<format::FieldDefinition> read_fields(MessageReader& in) {
  const std::uint64_t count = in.count("fields", kFieldBytesMin);
  std::vector<format::FieldDefinition> fields;
  for (std::uint64_t i = 0; i < count && in.is_valid(); ++i)
    fields.push_back(read_field(in));
  return fields;
}

format::AttributeTable read_attributes(MessageReader& in) {
  const auto bytes = in.bytes("attributes");
  auto table = format::AttributeTable::decode(bytes, "", 0);
  if (table) return std::move(*table);
  in.reject("attributes", table.error().offset_bytes().value_or(0), table.error().cause());
  return {};
}

AttributeHash read_attribute_hash(MessageReader& in) {
  AttributeHash attribute;
  attribute.key.scope = in.enumerator("attribute scope", format::AttributeScope::kField);
  attribute.key.field = in.text("attribute field");
  attribute.key.name = in.text("attribute name");
  attribute.hash = in.number<std::uint64_t>("attribute hash");
  return attribute;
}

/// True if `count` entries from `first` on exist.
bool has_range(std::size_t size, std::uint64_t first, std::uint64_t count) {
  return first <= size && count <= size - first;
}

/// Rejects a block that refers to a missing field, region, dim or piece.
void check_block(MessageReader& in, const RankMetadata& metadata, const BlockRecord& block) {
  if (block.field >= metadata.fields.size())
    in.reject("block field", block.field, "there are fewer fields");
  if (block.region != kNoRegion && block.region >= metadata.regions)
    in.reject("block region", block.region, "there are fewer regions");
  if (block.codec > format::Codec::kZstd)
    in.reject("block codec", static_cast<std::uint64_t>(block.codec), "must be a known codec");
  if (block.offset > kRegionBytesMax)
    in.reject("block offset", block.offset, "no file is that long");
  if (block.raw_bytes > kRegionBytesMax)
    in.reject("block raw bytes", block.raw_bytes, "no block is that long");
  if (block.stored_bytes > kRegionBytesMax)
    in.reject("block stored bytes", block.stored_bytes, "no block is that long");
  if (!in.is_valid()) return;
  const format::FieldDefinition& field = metadata.fields[block.field];
  const std::uint64_t dims =
      std::uint64_t{field.dimensions} * (field.kind == format::FieldKind::kGlobal ? 2 : 1);
  if (!has_range(metadata.dims.size(), block.first_dim, dims))
    in.reject("block first dim", block.first_dim, "there are fewer dims");
  const std::uint64_t pieces = format::piece_count(block.raw_bytes);
  if (!has_range(metadata.piece_checksums.size(), block.first_piece, pieces))
    in.reject("block first piece", block.first_piece, "there are fewer pieces");
}

std::string text_of(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t extent : shape)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

}  // namespace

std::string description_of(const format::FieldDefinition& field) {
  const std::string type(name_of(field.type));
  if (field.kind == format::FieldKind::kGlobal)
    return type + ", a global array of " + text_of(field.shape);
  return type + ", parts of " + std::to_string(field.dimensions) + " dimensions";
}

comm::Bytes to_bytes(const RankMetadata& metadata) {
  MessageWriter out;
  out.number(metadata.step);
  out.number(metadata.regions);
  out.number(metadata.raw_bytes);
  write_value(out, metadata.fields);
  out.list(std::span(metadata.blocks));
  out.list(std::span(metadata.dims));
  out.list(std::span(metadata.piece_checksums));
  out.list(std::span(metadata.piece_ends));
  out.bytes(metadata.attributes.encode());
  return std::move(out).take();
}

Result<RankMetadata> rank_metadata_from_bytes(std::span<const std::byte> bytes) {
  MessageReader in("rank metadata", bytes);
  RankMetadata metadata;
  metadata.step = in.number<std::uint64_t>("step");
  metadata.regions = in.number<std::uint32_t>("regions");
  metadata.raw_bytes = in.number<std::uint64_t>("raw bytes");
  metadata.fields = read_fields(in);
  metadata.blocks = in.list<BlockRecord>("blocks");
  metadata.dims = in.list<std::uint64_t>("dims");
  metadata.piece_checksums = in.list<std::uint64_t>("piece checksums");
  metadata.piece_ends = in.list<std::uint64_t>("piece ends");
  const std::size_t ends = metadata.piece_ends.size();
  if (ends != 0 && ends != metadata.piece_checksums.size())
    in.reject("piece ends", ends, "must be none, or one for each piece");
  for (const BlockRecord& block : metadata.blocks)
    check_block(in, metadata, block);
  metadata.attributes = read_attributes(in);
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  return metadata;
}

RankSummary summary_of(const RankMetadata& metadata) {
  RankSummary summary{.fields = metadata.fields};
  for (const auto& [key, value] : metadata.attributes.entries())
    summary.attributes.push_back({key, format::hash_of(value)});
  return summary;
}

comm::Bytes to_bytes(const RankSummary& summary) {
  MessageWriter out;
  write_value(out, summary.fields);
  out.number(std::uint64_t{summary.attributes.size()});
  for (const AttributeHash& attribute : summary.attributes) {
    out.enumerator(attribute.key.scope);
    out.text(attribute.key.field);
    out.text(attribute.key.name);
    out.number(attribute.hash);
  }
  return std::move(out).take();
}

Result<RankSummary> rank_summary_from_bytes(std::span<const std::byte> bytes) {
  MessageReader in("rank committed", bytes);
  RankSummary summary{.fields = read_fields(in)};
  const std::uint64_t count = in.count("attributes", kAttributeHashBytesMin);
  for (std::uint64_t i = 0; i < count && in.is_valid(); ++i)
    summary.attributes.push_back(read_attribute_hash(in));
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  return summary;
}

}  // namespace forebay::write
