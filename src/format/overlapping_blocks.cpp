// SPDX-License-Identifier: Apache-2.0
#include "format/overlapping_blocks.hpp"

#include "format/box_overlap.hpp"

namespace forebay::format {

std::optional<BlockPair> find_overlapping_boxes(const StepCatalog& step, const StepField& field) {
  if (field.definition.kind != FieldKind::kGlobal) return std::nullopt;
  const std::vector<BlockLocation> locations = step.blocks(field.definition.name);
  std::vector<Box> boxes;
  boxes.reserve(locations.size());
  for (const BlockLocation& location : locations)
    boxes.push_back(step.index(location).box(location.field, location.number));
  const auto overlap = find_overlap(boxes);
  if (!overlap) return std::nullopt;
  return BlockPair(locations[overlap->first], locations[overlap->second]);
}

std::optional<BlockPair> find_overlapping_blocks(const StepCatalog& step, const StepField& field) {
  if (field.definition.kind == FieldKind::kGlobal) return find_overlapping_boxes(step, field);
  const std::vector<BlockPair> doubled = step.duplicate_blocks(field.definition.name);
  return doubled.empty() ? std::nullopt : std::optional(doubled.front());
}

Status check_no_overlap(const StepCatalog& step, const StepField& field, const std::string& verb) {
  const auto overlap = find_overlapping_blocks(step, field);
  if (!overlap) return {};
  const auto& [first, other] = *overlap;
  const bool is_part = field.definition.kind == FieldKind::kParts;
  const std::string what =
      is_part ? "it is also" : "it shares elements with " + step.describe(first);
  return failure(
      {.kind = ErrorClass::kDamage,
       .operation = verb + " " + step.describe(other) + " of",
       .path = step.files()[other.file].path,
       .offset_bytes = step.block(other).offset,
       .cause = what + " in " + step.files()[first.file].path + "; no rule chooses between them"});
}

std::vector<Error> errors_of(const StepCatalog& step) {
  std::vector<Error> damages(step.errors().begin(), step.errors().end());
  for (const StepField& field : step.fields()) {
    if (field.definition.kind != FieldKind::kParts) continue;
    if (const Status clear = check_no_overlap(step, field, "look up"); !clear)
      damages.push_back(clear.error());
  }
  return damages;
}

}  // namespace forebay::format
