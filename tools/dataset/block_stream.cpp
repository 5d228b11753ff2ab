// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/block_stream.hpp"

#include <cerrno>

#include "command/command_result.hpp"
#include "format/block_reader.hpp"
#include "tools/dataset/attribute_json.hpp"
#include "tools/dataset/export_names.hpp"

namespace forebay::dataset_tool {
namespace {

using command::Json;
using format::BlockLocation;
using format::FieldKind;

Status write_bytes(std::span<const std::byte> bytes, std::FILE* into) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), into) == bytes.size()) return {};
  return tl::unexpected(system_error({.operation = "write blocks"}, errno));
}

Status write_line(const Json& document, std::FILE* into) {
  const std::string line = command::dump(document, -1) + "\n";
  return write_bytes(std::as_bytes(std::span(line)), into);
}

Json head_of(const Selected& selected) {
  using enum format::AttributeScope;
  const format::AttributeMap& attributes = selected.step->attributes();
  Json fields = Json::array();
  std::uint64_t bytes = 0;
  for (const format::StepField& field : selected.fields) {
    const format::FieldDefinition& definition = field.definition;
    fields.push_back({{"name", definition.name},
                      {"node", node_name(definition.name)},
                      {"dtype", numpy_type(definition.type, definition.order)},
                      {"kind", format::name_of(definition.kind)},
                      {"shape", definition.shape},
                      {"attributes", attributes_json(attributes, kField, definition.name)}});
    bytes += field.raw_bytes;
  }
  return {{"step", selected.step->entry().step},
          {"bytes", bytes},
          {"attributes", attributes_json(attributes, kStep)},
          {"dataset_attributes", attributes_json(attributes, kDataset)},
          {"fields", fields}};
}

class BlockStream {
 public:
  BlockStream(const Selected& selected, std::FILE* into) : selected_(selected), into_(into) {}

  Status write() {
    Status done = write_line(head_of(selected_), into_);
    for (std::size_t field = 0; done && field < selected_.fields.size(); ++field)
      for (const BlockLocation& place : step().blocks(selected_.fields[field].definition.name)) {
        done = write_block(field, place);
        if (!done) return done;
      }
    if (done) done = write_line({{"end", true}}, into_);
    if (done && std::fflush(into_) != 0)
      return tl::unexpected(system_error({.operation = "write blocks"}, errno));
    return done;
  }

 private:
  const format::StepCatalog& step() const { return *selected_.step; }
  Json line_of(std::size_t field, const BlockLocation& place) const {
    const format::Index& index = step().index(place);
    Json line = {{"field", field}};
    if (selected_.fields[field].definition.kind == FieldKind::kParts) {
      line["part"] = step().block(place).key;
    } else {
      line["start"] = index.box(place.field, place.number).start;
    }
    line["shape"] = index.shape(place.field, place.number);
    line["bytes"] = step().block(place).raw_bytes;
    return line;
  }
  Status write_block(std::size_t field, const BlockLocation& place) {
    const format::Block block = step().block(place);
    Status done = write_line(line_of(field, place), into_);
    for (std::uint64_t piece = 0; done && piece < block.pieces(); ++piece) {
      bytes_.resize(block.raw_range(piece).size);
      done = reader_.read_piece(step(), place, piece, bytes_);
      if (done) done = write_bytes(bytes_, into_);
    }
    return done;
  }

  const Selected& selected_;
  std::FILE* into_;
  format::BlockReader reader_;
  std::vector<std::byte> bytes_;
};

}  // namespace

Status stream_blocks(const Selection& selection, std::FILE* into) {
  const auto selected = select(selection);
  if (!selected) return tl::unexpected(selected.error());
  return BlockStream(*selected, into).write();
}

}  // namespace forebay::dataset_tool
