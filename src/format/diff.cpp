// SPDX-License-Identifier: Apache-2.0
#include "format/diff.hpp"

#include <set>

#include "format/comparison.hpp"
#include "format/overlapping_blocks.hpp"

namespace forebay::format {
namespace {

/// A field of both steps; nullptr where a step does not have it.
struct FieldPair {
  const StepField* left = nullptr;
  const StepField* right = nullptr;

  const std::string& name() const noexcept { return (left ? left : right)->definition.name; }
  bool has_both() const noexcept { return left != nullptr && right != nullptr; }
  bool is_comparable() const noexcept {
    return has_both() && left->definition == right->definition;
  }
};

/// A step with unreadable parts cannot be compared: they would seem to be on one side only.
Status check_readable(const StepCatalog& step) {
  if (step.errors().empty()) return {};
  return tl::unexpected(step.errors().front());
}

/// Of two blocks with the same elements, one would hide the other.
Status check_no_overlaps(const Comparison& comparison, std::span<const FieldPair> pairs) {
  for (const FieldPair& pair : pairs) {
    if (!pair.is_comparable()) continue;
    Status clear = check_no_overlap(comparison.left, *pair.left, "compare");
    if (clear) clear = check_no_overlap(comparison.right, *pair.right, "compare");
    if (!clear) return clear;
  }
  return {};
}

bool is_selected(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

/// All selected fields, by name.
std::vector<FieldPair> field_pairs(const Comparison& comparison) {
  std::set<std::string> names;
  for (const StepCatalog* step : {&comparison.left, &comparison.right})
    for (const StepField& field : step->fields())
      if (is_selected(comparison.options.fields, field.definition.name))
        names.insert(field.definition.name);
  std::vector<FieldPair> pairs;
  for (const std::string& name : names)
    pairs.push_back({comparison.left.find_field(name), comparison.right.find_field(name)});
  return pairs;
}

void compare_attributes(Comparison& comparison) {
  AttributeMap all = comparison.left.attributes();
  all.insert(comparison.right.attributes().begin(), comparison.right.attributes().end());
  const auto value_in = [](const StepCatalog& step, const AttributeKey& key) {
    const auto found = step.attributes().find(key);
    return found == step.attributes().end() ? std::nullopt : std::optional(found->second);
  };
  for (const auto& [key, value] : all) {
    const bool is_of_field = key.scope == AttributeScope::kField;
    const bool is_compared = is_of_field ? is_selected(comparison.options.fields, key.field)
                                         : comparison.options.fields.empty();
    AttributeDifference pair = {key, value_in(comparison.left, key),
                                value_in(comparison.right, key)};
    if (is_compared && pair.left != pair.right)
      comparison.report.attributes.push_back(std::move(pair));
  }
}

FieldDifference difference_of(const FieldPair& pair) {
  const DifferenceKind kind = pair.has_both()         ? DifferenceKind::kDefinition
                              : pair.right == nullptr ? DifferenceKind::kOnlyLeft
                                                      : DifferenceKind::kOnlyRight;
  return {.name = pair.name(), .kind = kind};
}

Result<FieldDifference> compare_field(Comparison& comparison, const FieldDefinition& definition) {
  ++comparison.report.fields_compared;
  return definition.kind == FieldKind::kParts ? compare_parts(comparison, definition)
                                              : compare_arrays(comparison, definition);
}

}  // namespace

Result<DiffReport> diff(const StepCatalog& left,
                        const StepCatalog& right,
                        const DiffOptions& options) {
  for (const StepCatalog* step : {&left, &right})
    if (const Status comparison = check_readable(*step); !comparison)
      return tl::unexpected(comparison.error());
  Comparison comparison = {.left = left, .right = right, .options = options};
  const std::vector<FieldPair> pairs = field_pairs(comparison);
  if (const Status clear = check_no_overlaps(comparison, pairs); !clear)
    return tl::unexpected(clear.error());
  compare_attributes(comparison);
  for (const FieldPair& pair : pairs)
    if (pair.is_comparable()) comparison.progress.total_bytes += pair.left->raw_bytes;
  for (const FieldPair& pair : pairs) {
    if (!pair.is_comparable()) {
      comparison.report.fields.push_back(difference_of(pair));
      continue;
    }
    auto field = compare_field(comparison, pair.left->definition);
    if (!field) return tl::unexpected(field.error());
    if (field->differing_blocks > 0) comparison.report.fields.push_back(std::move(*field));
  }
  return std::move(comparison.report);
}

}  // namespace forebay::format
