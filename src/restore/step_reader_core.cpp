// SPDX-License-Identifier: Apache-2.0
#include "restore/step_reader_core.hpp"

#include <algorithm>
#include <utility>

#include "base/name_list.hpp"
#include "format/overlapping_blocks.hpp"
#include "restore/part_finder.hpp"

namespace forebay::restore {

namespace {

using format::AttributeScope;

FieldInfo field_from(const format::StepField& field, const format::AttributeMap& attributes) {
  const format::FieldDefinition& definition = field.definition;
  const bool is_global = definition.kind == format::FieldKind::kGlobal;
  return {
      .name = definition.name,
      .type = definition.type,
      .order = definition.order,
      .kind = is_global ? FieldKind::kGlobal : FieldKind::kParts,
      .dimensions = definition.dimensions,
      .shape = definition.shape,
      .blocks = field.blocks,
      .bytes = field.raw_bytes,
      .stored_bytes = field.stored_bytes,
      .attributes = format::list_attributes(attributes, AttributeScope::kField, definition.name)};
}

std::vector<FieldInfo> fields_from(const format::StepCatalog& catalog) {
  std::vector<FieldInfo> fields;
  for (const format::StepField& field : catalog.fields())
    fields.push_back(field_from(field, catalog.attributes()));
  return fields;
}

}  // namespace

StepReaderCore::StepReaderCore(std::string directory,
                               std::shared_ptr<const format::StepCatalog> catalog,
                               std::shared_ptr<FileSessionCache> sessions,
                               std::shared_ptr<PieceCache> pieces,
                               Verification verification)
    : directory_(std::move(directory)),
      catalog_(std::move(catalog)),
      sessions_(std::move(sessions)),
      pieces_(std::move(pieces)),
      verification_(verification),
      errors_(format::errors_of(*catalog_)),
      fields_(fields_from(*catalog_)),
      attributes_(format::list_attributes(catalog_->attributes(), AttributeScope::kStep)),
      dataset_attributes_(
          format::list_attributes(catalog_->attributes(), AttributeScope::kDataset)) {}

const FieldInfo* StepReaderCore::find(std::string_view field) const noexcept {
  const auto found = std::ranges::lower_bound(
      fields_, field, {}, [](const FieldInfo& known) { return std::string_view(known.name); });
  return found != fields_.end() && found->name == field ? &*found : nullptr;
}

Error StepReaderCore::make_error(ErrorClass kind, std::string_view field, std::string cause) const {
  return Error({.kind = kind,
                .operation = "read step " + std::to_string(catalog_->entry().step) + ", field " +
                             std::string(field) + " of",
                .path = directory_,
                .cause = std::move(cause)});
}

Error StepReaderCore::not_found_error(std::string_view field, const std::string& what) const {
  for (const format::StepFile& file : catalog_->files()) {
    if (!file.error) continue;
    const Error& damage = *file.error;
    const Error error({.kind = damage.kind(),
                       .operation = make_error(damage.kind(), field, "").operation(),
                       .path = file.path,
                       .offset_bytes = damage.offset_bytes(),
                       .error_number = damage.error_number(),
                       .cause = what + " in no readable file; the content of this one is unknown" +
                                (damage.cause().empty() ? "" : ": " + damage.cause())});
    return translate_error(error);
  }
  return make_error(ErrorClass::kNotFound, field, what + " not in this step");
}

Result<const FieldInfo*> StepReaderCore::require_field(std::string_view name,
                                                       FieldKind kind) const {
  const FieldInfo* const field = find(name);
  if (field == nullptr) {
    NameList names;
    for (const FieldInfo& known : fields_)
      names.add(known.name);
    return failure(
        with_note(not_found_error(name, "it is"), "fields of this step: " + names.text()));
  }
  if (field->kind == kind) return field;
  const bool is_global = field->kind == FieldKind::kGlobal;
  return failure(make_error(ErrorClass::kInvalidArgument, name,
                            is_global ? "it is a global array; request a selection of it, not parts"
                                      : "it has parts; request these, not a selection"));
}

Result<std::vector<Part>> StepReaderCore::parts(std::string_view name) const {
  const auto field = require_field(name, FieldKind::kParts);
  if (!field) return failure(field.error());
  std::vector<Part> parts;
  parts.reserve((*field)->blocks);
  for (const format::BlockLocation& location : catalog_->blocks(name))
    parts.push_back({catalog_->block(location).key});
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

Result<std::vector<Part>> StepReaderCore::complete_parts(std::string_view name) const {
  if (has_lost_files()) return failure(not_found_error(name, "some of its parts may be"));
  return parts(name);
}

Result<Shape> StepReaderCore::shape(std::string_view name, Part part) const {
  const auto field = require_field(name, FieldKind::kParts);
  if (!field) return failure(field.error());
  const auto location = catalog_->find_part(name, part.number);
  if (!location) return failure(translate_error(location.error()));
  return catalog_->index(*location).shape(location->field, location->number);
}

Result<std::vector<std::uint64_t>> StepReaderCore::element_counts(
    std::string_view name, std::span<const Part> parts) const {
  const auto field = require_field(name, FieldKind::kParts);
  if (!field) return failure(field.error());
  PartFinder finder(*catalog_, name);
  std::vector<std::uint64_t> elements;
  elements.reserve(parts.size());
  for (const Part& part : parts) {
    const auto location = finder.find(part.number);
    if (!location) return failure(translate_error(location.error()));
    elements.push_back(catalog_->block(*location).raw_bytes / element_size((*field)->type));
  }
  return elements;
}

}  // namespace forebay::restore
