// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/listing.hpp"

#include <forebay/write_plan.hpp>

#include <filesystem>

#include "format/overlapping_blocks.hpp"
#include "tools/dataset/attribute_json.hpp"
#include "tools/dataset/export_names.hpp"
#include "tools/dataset/selection.hpp"

namespace forebay::dataset_tool {
namespace {

using format::AttributeScope;
using format::BlockLocation;
using format::Catalog;
using format::StepCatalog;

/// The name of a strategy; its number if a later version defined it.
std::string strategy_name(std::uint16_t number) {
  constexpr auto kLast = static_cast<std::uint16_t>(Strategy::kGather);
  if (number > kLast) return std::to_string(number);
  return std::string(name_of(static_cast<Strategy>(number)));
}

Json to_json(const format::StepEntry& step) {
  return {{"step", step.step},
          {"time_ns", step.wall_ns},
          {"raw_bytes", step.raw_bytes},
          {"stored_bytes", step.stored_bytes},
          {"files", step.files.size()},
          {"writers", step.writers},
          {"strategy", strategy_name(step.strategy)},
          {"group", step.group}};
}

Json to_json(const format::StepField& field, const format::AttributeMap& attributes) {
  const format::FieldDefinition& definition = field.definition;
  Json shape = nullptr;
  if (definition.kind == format::FieldKind::kGlobal) shape = definition.shape;
  return {{"name", definition.name},
          {"node", node_name(definition.name)},
          {"type", name_of(definition.type)},
          {"byte_order", name_of(definition.order)},
          {"kind", name_of(definition.kind)},
          {"dimensions", definition.dimensions},
          {"shape", shape},
          {"blocks", field.blocks},
          {"raw_bytes", field.raw_bytes},
          {"stored_bytes", field.stored_bytes},
          {"attributes", attributes_json(attributes, AttributeScope::kField, definition.name)}};
}

Json to_json(const StepCatalog& step, const BlockLocation& place) {
  const format::Block block = step.block(place);
  const format::Index& index = step.index(place);
  const format::FieldDefinition& field = index.fields()[place.field].definition;
  Json json = {{"field", field.name}};
  if (field.kind == format::FieldKind::kParts) {
    json["part"] = block.key;
  } else {
    json["start"] = index.box(place.field, place.number).start;
  }
  json["shape"] = index.shape(place.field, place.number);
  json["file"] = std::filesystem::path(step.files()[place.file].path).filename().string();
  json["offset"] = block.offset;
  json["raw_bytes"] = block.raw_bytes;
  json["stored_bytes"] = block.stored_bytes;
  json["codec"] = name_of(block.codec);
  return json;
}

Json blocks_of(const StepCatalog& step) {
  Json blocks = Json::array();
  for (const format::StepField& field : step.fields())
    for (const BlockLocation& place : step.blocks(field.definition.name))
      blocks.push_back(to_json(step, place));
  return blocks;
}

Json to_json(const StepCatalog& step, Blocks blocks) {
  Json fields = Json::array();
  for (const format::StepField& field : step.fields())
    fields.push_back(to_json(field, step.attributes()));
  Json json = to_json(step.entry());
  json["attributes"] = attributes_json(step.attributes(), AttributeScope::kStep);
  json["dataset_attributes"] = attributes_json(step.attributes(), AttributeScope::kDataset);
  json["fields"] = fields;
  if (blocks == Blocks::kList) json["blocks"] = blocks_of(step);
  return json;
}

/// Bytes of all regular files of the directory, including recycled ones.
std::uint64_t file_bytes_of(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const std::uint64_t size = entry->is_regular_file(gone) ? entry->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

}  // namespace

Json damage_json(const Error& error) {
  Json offset = nullptr;
  if (error.offset_bytes()) offset = *error.offset_bytes();
  return {{"class", name_of(error.kind())},
          {"path", error.path()},
          {"offset", offset},
          {"message", error.message()}};
}

Result<Json> list(const ListOptions& options) {
  const auto catalog = Catalog::open(options.path);
  if (!catalog) return tl::unexpected(catalog.error());
  Json steps = Json::array();
  for (const format::StepEntry& step : (*catalog)->steps())
    steps.push_back(to_json(step));
  Json damages = Json::array();
  for (const Error& damage : (*catalog)->commits().errors)
    damages.push_back(damage_json(damage));
  Json document = {{"ok", false},
                   {"path", options.path},
                   {"dataset", format::to_string((*catalog)->dataset())},
                   {"generation", (*catalog)->commits().state.generation},
                   {"file_bytes", file_bytes_of(options.path)},
                   {"steps", std::move(steps)},
                   {"step", nullptr}};
  if (options.step || !(*catalog)->steps().empty()) {
    const auto step = step_of(**catalog, options.step);
    if (!step) return tl::unexpected(step.error());
    document["step"] = to_json(**step, options.blocks);
    for (const Error& damage : format::errors_of(**step))
      damages.push_back(damage_json(damage));
  }
  document["ok"] = damages.empty();
  document["damages"] = std::move(damages);
  return document;
}

}  // namespace forebay::dataset_tool
