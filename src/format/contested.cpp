// SPDX-License-Identifier: Apache-2.0
#include "format/contested.hpp"

#include "format/box_overlap.hpp"

namespace forebay::format {

std::optional<BlockPair> find_overlap(const StepCatalog& step, const StepField& field) {
  if (field.definition.kind != FieldKind::kGlobal) return std::nullopt;
  const std::vector<BlockPlace> places = step.blocks(field.definition.name);
  std::vector<Box> boxes;
  boxes.reserve(places.size());
  for (const BlockPlace& place : places)
    boxes.push_back(step.index(place).box(place.field, place.number));
  const auto overlap = find_overlap(boxes);
  if (!overlap) return std::nullopt;
  return BlockPair(places[overlap->first], places[overlap->second]);
}

std::optional<BlockPair> find_contested(const StepCatalog& step, const StepField& field) {
  if (field.definition.kind == FieldKind::kGlobal) return find_overlap(step, field);
  const std::vector<BlockPair> doubled = step.doubled(field.definition.name);
  return doubled.empty() ? std::nullopt : std::optional(doubled.front());
}

Status check_uncontested(const StepCatalog& step, const StepField& field, const std::string& verb) {
  const auto contested = find_contested(step, field);
  if (!contested) return {};
  const auto& [first, other] = *contested;
  const bool is_part = field.definition.kind == FieldKind::kParts;
  const std::string what = is_part ? "it is" : "it has elements of " + step.describe(first);
  return failure({.kind = ErrorClass::kDamage,
                  .operation = verb + " " + step.describe(other) + " of",
                  .path = step.files()[other.file].path,
                  .offset_bytes = step.block(other).offset,
                  .cause = what + " in " + step.files()[first.file].path +
                           ", too, and nothing says which of them is meant"});
}

std::vector<Error> damages_of(const StepCatalog& step) {
  std::vector<Error> damages(step.damages().begin(), step.damages().end());
  for (const StepField& field : step.fields()) {
    if (field.definition.kind != FieldKind::kParts) continue;
    if (const Status clear = check_uncontested(step, field, "look up"); !clear)
      damages.push_back(clear.error());
  }
  return damages;
}

}  // namespace forebay::format
