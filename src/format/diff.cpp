// SPDX-License-Identifier: Apache-2.0
#include "format/diff.hpp"

#include <set>

#include "format/comparison.hpp"
#include "format/contested.hpp"

namespace forebay::format {
namespace {

/// A field as both steps have it; nullptr where one has it not.
struct FieldPair {
  const StepField* left = nullptr;
  const StepField* right = nullptr;

  const std::string& name() const noexcept { return (left ? left : right)->definition.name; }
  bool is_on_both() const noexcept { return left != nullptr && right != nullptr; }
  bool is_comparable() const noexcept {
    return is_on_both() && left->definition == right->definition;
  }
};

/// What cannot be looked up cannot be compared: parts would seem to be on one side only.
Status check_whole(const StepCatalog& step) {
  if (step.damages().empty()) return {};
  return tl::unexpected(step.damages().front());
}

/// Of two blocks with the same elements, one would hide the other.
Status check_fields(const Comparison& whole, std::span<const FieldPair> pairs) {
  for (const FieldPair& pair : pairs) {
    if (!pair.is_comparable()) continue;
    Status clear = check_uncontested(whole.left, *pair.left, "compare");
    if (clear) clear = check_uncontested(whole.right, *pair.right, "compare");
    if (!clear) return clear;
  }
  return {};
}

bool is_wanted(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

/// All fields that are wanted, by name.
std::vector<FieldPair> pairs_of(const Comparison& whole) {
  std::set<std::string> names;
  for (const StepCatalog* step : {&whole.left, &whole.right})
    for (const StepField& field : step->fields())
      if (is_wanted(whole.options.fields, field.definition.name))
        names.insert(field.definition.name);
  std::vector<FieldPair> pairs;
  for (const std::string& name : names)
    pairs.push_back({whole.left.find_field(name), whole.right.find_field(name)});
  return pairs;
}

FieldDifference difference_of(const FieldPair& pair) {
  const DifferenceKind kind = pair.is_on_both()       ? DifferenceKind::kDefinition
                              : pair.right == nullptr ? DifferenceKind::kOnlyLeft
                                                      : DifferenceKind::kOnlyRight;
  return {.name = pair.name(), .kind = kind};
}

Result<FieldDifference> compare_field(Comparison& whole, const FieldDefinition& definition) {
  ++whole.report.fields_compared;
  return definition.kind == FieldKind::kParts ? compare_parts(whole, definition)
                                              : compare_arrays(whole, definition);
}

}  // namespace

Result<DiffReport> diff(const StepCatalog& left,
                        const StepCatalog& right,
                        const DiffOptions& options) {
  for (const StepCatalog* step : {&left, &right})
    if (const Status whole = check_whole(*step); !whole) return tl::unexpected(whole.error());
  Comparison whole = {.left = left, .right = right, .options = options};
  const std::vector<FieldPair> pairs = pairs_of(whole);
  if (const Status clear = check_fields(whole, pairs); !clear) return tl::unexpected(clear.error());
  for (const FieldPair& pair : pairs)
    if (pair.is_comparable()) whole.progress.all_bytes += pair.left->raw_bytes;
  for (const FieldPair& pair : pairs) {
    if (!pair.is_comparable()) {
      whole.report.fields.push_back(difference_of(pair));
      continue;
    }
    auto field = compare_field(whole, pair.left->definition);
    if (!field) return tl::unexpected(field.error());
    if (field->blocks_different > 0) whole.report.fields.push_back(std::move(*field));
  }
  return std::move(whole.report);
}

}  // namespace forebay::format
