// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/block_stream.hpp"

#include <filesystem>
#include <utility>

#include "base/assert.hpp"
#include "format/overlapping_blocks.hpp"
#include "tools/dataset/attribute_json.hpp"
#include "tools/dataset/export_names.hpp"

namespace forebay::dataset_tool {

using command::Json;
using format::BlockLocation;

namespace {

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

Json describe(const Selected& selected, std::size_t field, const BlockLocation& place) {
  const format::Index& index = selected.step->index(place);
  const format::Block block = selected.step->block(place);
  Json described = {{"field", field}};
  if (selected.fields[field].definition.kind == format::FieldKind::kParts) {
    described["part"] = block.key;
  } else {
    described["start"] = index.box(place.field, place.number).start;
  }
  described["shape"] = index.shape(place.field, place.number);
  described["bytes"] = block.raw_bytes;
  return described;
}

Json places_of(const Selected& selected) {
  Json places = head_of(selected);
  for (const auto& file : selected.step->files())
    places["files"].push_back(std::filesystem::path(file.path).filename().string());
  places["blocks"] = Json::array();
  for (std::size_t field = 0; field < selected.fields.size(); ++field) {
    const format::StepField& own = selected.fields[field];
    if (const Status clear = format::check_no_overlap(*selected.step, own, "view"); !clear)
      places["fields"][field]["error"] = clear.error().message();
    for (const BlockLocation& place : selected.step->blocks(own.definition.name)) {
      const format::Block block = selected.step->block(place);
      Json described = describe(selected, field, place);
      described["file"] = place.file;
      described["offset"] = block.offset;
      described["stored_bytes"] = block.stored_bytes;
      described["encoding"] = name_of(encoding_of(block));
      places["blocks"].push_back(std::move(described));
    }
  }
  return places;
}

Json places_of(const Result<std::shared_ptr<const format::StepCatalog>>& step,
               std::uint64_t number) {
  if (!step || !(*step)->errors().empty()) {
    const Error& error = step ? (*step)->errors().front() : step.error();
    return {{"step", number}, {"error", error.message()}};
  }
  const auto fields = (*step)->fields();
  return places_of({.step = *step, .fields = {fields.begin(), fields.end()}});
}

}  // namespace

BlockStream::BlockStream(Selected selected) : selected_(std::move(selected)) {
  for (std::size_t field = 0; field < selected_.fields.size(); ++field)
    for (const BlockLocation& place : step().blocks(selected_.fields[field].definition.name))
      blocks_.emplace_back(field, place);
}

Result<BlockStream> BlockStream::open(const Selection& selection) {
  return select(selection).map([](Selected selected) { return BlockStream(std::move(selected)); });
}

Json BlockStream::head() const { return head_of(selected_); }

std::optional<Json> BlockStream::next() {
  if (next_ == blocks_.size()) return std::nullopt;
  const auto& [field, place] = blocks_[next_++];
  offset_ = 0;
  return describe(selected_, field, place);
}

Status BlockStream::read(std::span<std::byte> into) {
  if (into.empty()) return {};
  FOREBAY_ASSERT(next_ > 0);
  const Status done = reader_.read(step(), blocks_[next_ - 1].second, {offset_, into.size()}, into);
  if (done) offset_ += into.size();
  return done;
}

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

Result<Json> list_places(const PlacesRequest& request) {
  const auto catalog = format::Catalog::open(request.path);
  if (!catalog) return tl::unexpected(catalog.error());
  Json steps = Json::array();
  if (request.step || request.which == PlacesRequest::Which::kNewest) {
    const auto chosen = step_of(**catalog, request.step);
    if (!chosen) return tl::unexpected(chosen.error());
    steps.push_back(places_of(chosen, (*chosen)->entry().step));
    return steps;
  }
  for (const auto& entry : (*catalog)->steps())
    steps.push_back(places_of((*catalog)->step(entry.step), entry.step));
  return steps;
}

}  // namespace forebay::dataset_tool
