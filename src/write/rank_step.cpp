// SPDX-License-Identifier: Apache-2.0
// Steps as bytes: counts, then the arrays one after the other.
#include "write/rank_step.hpp"

#include "write/byte_lists.hpp"

namespace forebay::write {

namespace {

void add_fields(ByteWriter& out, const std::vector<format::FieldDefinition>& fields) {
  out.number(static_cast<std::uint64_t>(fields.size()));
  for (const format::FieldDefinition& field : fields) {
    out.text(field.name);
    out.number(field.type);
    out.number(field.order);
    out.number(field.kind);
    out.number(field.dimensions);
    out.list(field.shape);
  }
}

std::vector<format::FieldDefinition> take_fields(ByteReader& in) {
  std::vector<format::FieldDefinition> fields(in.number<std::uint64_t>());
  for (format::FieldDefinition& field : fields) {
    field.name = in.text();
    field.type = in.number<ElementType>();
    field.order = in.number<ByteOrder>();
    field.kind = in.number<format::FieldKind>();
    field.dimensions = in.number<std::uint32_t>();
    field.shape = in.list<std::uint64_t>();
  }
  return fields;
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

comm::Bytes to_bytes(const RankStep& step) {
  ByteWriter out;
  out.number(step.step);
  out.number(step.regions);
  out.number(step.raw_bytes);
  add_fields(out, step.fields);
  out.list(step.blocks);
  out.list(step.extents);
  out.list(step.piece_checksums);
  out.list(step.piece_ends);
  return out.take();
}

RankStep rank_step_from(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  RankStep step;
  step.step = in.number<std::uint64_t>();
  step.regions = in.number<std::uint32_t>();
  step.raw_bytes = in.number<std::uint64_t>();
  step.fields = take_fields(in);
  step.blocks = in.list<BlockRecord>();
  step.extents = in.list<std::uint64_t>();
  step.piece_checksums = in.list<std::uint64_t>();
  step.piece_ends = in.list<std::uint64_t>();
  FOREBAY_ASSERT(in.is_at_end());
  return step;
}

comm::Bytes fields_to_bytes(const std::vector<format::FieldDefinition>& fields) {
  ByteWriter out;
  add_fields(out, fields);
  return out.take();
}

std::vector<format::FieldDefinition> fields_from(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  return take_fields(in);
}

}  // namespace forebay::write
