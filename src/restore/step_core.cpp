// SPDX-License-Identifier: Apache-2.0
#include "restore/step_core.hpp"

#include <algorithm>
#include <utility>

#include "base/name_list.hpp"
#include "format/contested.hpp"
#include "restore/part_finder.hpp"

namespace forebay::restore {

namespace {

StoredField field_from(const format::StepField& field) {
  const format::FieldDefinition& definition = field.definition;
  const bool is_global = definition.kind == format::FieldKind::kGlobal;
  return {.name = definition.name,
          .type = definition.type,
          .order = definition.order,
          .kind = is_global ? FieldKind::kGlobal : FieldKind::kParts,
          .dimensions = definition.dimensions,
          .shape = definition.shape,
          .blocks = field.blocks,
          .bytes = field.raw_bytes,
          .stored_bytes = field.stored_bytes};
}

std::vector<StoredField> fields_from(const format::StepCatalog& catalog) {
  std::vector<StoredField> fields;
  for (const format::StepField& field : catalog.fields())
    fields.push_back(field_from(field));
  return fields;
}

}  // namespace

StepCore::StepCore(std::string folder,
                   std::shared_ptr<const format::StepCatalog> catalog,
                   std::shared_ptr<FileSessions> sessions,
                   Verification verification)
    : folder_(std::move(folder)),
      catalog_(std::move(catalog)),
      sessions_(std::move(sessions)),
      verification_(verification),
      damages_(format::damages_of(*catalog_)),
      fields_(fields_from(*catalog_)) {}

const StoredField* StepCore::find(std::string_view field) const noexcept {
  const auto found = std::ranges::lower_bound(
      fields_, field, {}, [](const StoredField& known) { return std::string_view(known.name); });
  return found != fields_.end() && found->name == field ? &*found : nullptr;
}

Error StepCore::failed(ErrorClass kind, std::string_view field, std::string cause) const {
  return Error({.kind = kind,
                .operation = "read step " + std::to_string(catalog_->entry().step) + ", field " +
                             std::string(field) + " of",
                .path = folder_,
                .cause = std::move(cause)});
}

Error StepCore::missing(std::string_view field, const std::string& what) const {
  for (const format::StepFile& file : catalog_->files()) {
    if (!file.damage) continue;
    const Error& damage = *file.damage;
    const Error error({.kind = damage.kind(),
                       .operation = failed(damage.kind(), field, "").operation(),
                       .path = file.path,
                       .offset_bytes = damage.offset_bytes(),
                       .error_number = damage.error_number(),
                       .cause = what + " in no other file, and what this one has cannot be known" +
                                (damage.cause().empty() ? "" : ": " + damage.cause())});
    return explained(error);
  }
  return failed(ErrorClass::kNotFound, field, what + " nowhere in this step");
}

Result<const StoredField*> StepCore::field_of(std::string_view name, FieldKind kind) const {
  const StoredField* const field = find(name);
  if (field == nullptr) {
    NameList all;
    for (const StoredField& known : fields_)
      all.add(known.name);
    return failure(with_note(missing(name, "it is"), "fields that are here: " + all.text()));
  }
  if (field->kind == kind) return field;
  const bool is_global = field->kind == FieldKind::kGlobal;
  return failure(failed(ErrorClass::kInvalidArgument, name,
                        is_global ? "it is a global array: ask for a region of it, not for parts"
                                  : "it has parts: ask for these, not for a region"));
}

Result<std::vector<Part>> StepCore::parts(std::string_view name) const {
  const auto field = field_of(name, FieldKind::kParts);
  if (!field) return failure(field.error());
  std::vector<Part> parts;
  parts.reserve((*field)->blocks);
  for (const format::BlockPlace& place : catalog_->blocks(name))
    parts.push_back({catalog_->block(place).key});
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

Result<std::vector<Part>> StepCore::all_parts(std::string_view name) const {
  if (has_lost_files()) return failure(missing(name, "some of its parts may be"));
  return parts(name);
}

Result<Shape> StepCore::shape(std::string_view name, Part part) const {
  const auto field = field_of(name, FieldKind::kParts);
  if (!field) return failure(field.error());
  const auto place = catalog_->find_part(name, part.number);
  if (!place) return failure(explained(place.error()));
  return catalog_->index(*place).shape(place->field, place->number);
}

Result<std::vector<std::uint64_t>> StepCore::elements(std::string_view name,
                                                      std::span<const Part> parts) const {
  const auto field = field_of(name, FieldKind::kParts);
  if (!field) return failure(field.error());
  PartFinder finder(*catalog_, name);
  std::vector<std::uint64_t> elements;
  elements.reserve(parts.size());
  for (const Part& part : parts) {
    const auto place = finder.find(part.number);
    if (!place) return failure(explained(place.error()));
    elements.push_back(catalog_->block(*place).raw_bytes / bytes_of((*field)->type));
  }
  return elements;
}

}  // namespace forebay::restore
