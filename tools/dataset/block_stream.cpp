// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/block_stream.hpp"

#include <cerrno>
#include <filesystem>

#include "command/command_result.hpp"
#include "format/block_reader.hpp"
#include "format/overlapping_blocks.hpp"
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

Json line_of(const Selected& selected, std::size_t field, const BlockLocation& place) {
  const format::Index& index = selected.step->index(place);
  Json line = {{"field", field}};
  if (selected.fields[field].definition.kind == FieldKind::kParts) {
    line["part"] = selected.step->block(place).key;
  } else {
    line["start"] = index.box(place.field, place.number).start;
  }
  line["shape"] = index.shape(place.field, place.number);
  line["bytes"] = selected.step->block(place).raw_bytes;
  return line;
}

/// Writes the places of a step: its head with the names of its files, and a line for each block.
Status write_places(const Selected& selected, std::FILE* into) {
  Json head = head_of(selected);
  for (const auto& file : selected.step->files())
    head["files"].push_back(std::filesystem::path(file.path).filename().string());
  for (std::size_t field = 0; field < selected.fields.size(); ++field)
    if (const Status clear =
            format::check_no_overlap(*selected.step, selected.fields[field], "view");
        !clear)
      head["fields"][field]["error"] = clear.error().message();
  Status done = write_line(head, into);
  for (std::size_t field = 0; done && field < selected.fields.size(); ++field)
    for (const BlockLocation& place :
         selected.step->blocks(selected.fields[field].definition.name)) {
      const format::Block block = selected.step->block(place);
      Json line = line_of(selected, field, place);
      line["file"] = place.file;
      line["offset"] = block.offset;
      line["stored_bytes"] = block.stored_bytes;
      line["encoding"] = name_of(encoding_of(block));
      done = write_line(line, into);
      if (!done) return done;
    }
  return done;
}

Status write_step(const Result<std::shared_ptr<const format::StepCatalog>>& step,
                  std::uint64_t number,
                  std::FILE* into) {
  if (step && (*step)->errors().empty()) {
    const auto fields = (*step)->fields();
    return write_places({.step = *step, .fields = {fields.begin(), fields.end()}}, into);
  }
  const Error& error = step ? (*step)->errors().front() : step.error();
  return write_line({{"step", number}, {"error", error.message()}}, into);
}

Status end_places(std::FILE* into) {
  const Status done = write_line({{"end", true}}, into);
  if (!done || std::fflush(into) == 0) return done;
  return tl::unexpected(system_error({.operation = "write places"}, errno));
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
  Status write_block(std::size_t field, const BlockLocation& place) {
    const format::Block block = step().block(place);
    Status done = write_line(line_of(selected_, field, place), into_);
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

BlockEncoding encoding_of(const format::Block& block) {
  std::uint64_t frames = 0;
  if (block.codec == format::Codec::kNone) return BlockEncoding::kUncompressed;
  for (std::uint64_t piece = 0; piece < block.pieces(); ++piece)
    frames += block.stored_range(piece).size < block.raw_range(piece).size ? 1 : 0;
  if (frames == 0) return BlockEncoding::kUncompressed;
  return frames == block.pieces() ? BlockEncoding::kCompressed : BlockEncoding::kMixed;
}

std::string_view name_of(BlockEncoding encoding) {
  switch (encoding) {
    case BlockEncoding::kUncompressed:
      return "none";
    case BlockEncoding::kCompressed:
      return "zstd";
    default:
      return "mixed";
  }
}

Status stream_places(const PlacesRequest& request, std::FILE* into) {
  const auto catalog = format::Catalog::open(request.path);
  if (!catalog) return tl::unexpected(catalog.error());
  const bool is_one = request.step || request.which == PlacesRequest::Which::kNewest;
  if (is_one) {
    const auto chosen = step_of(**catalog, request.step);
    if (!chosen) return tl::unexpected(chosen.error());
    const Status done = write_step(chosen, (*chosen)->entry().step, into);
    return done ? end_places(into) : done;
  }
  for (const auto& entry : (*catalog)->steps())
    if (const Status done = write_step((*catalog)->step(entry.step), entry.step, into); !done)
      return done;
  return end_places(into);
}

Status stream_blocks(const Selection& selection, std::FILE* into) {
  const auto selected = select(selection);
  if (!selected) return tl::unexpected(selected.error());
  return BlockStream(*selected, into).write();
}

}  // namespace forebay::dataset_tool
