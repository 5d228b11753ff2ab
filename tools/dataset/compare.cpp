// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/compare.hpp"

#include <cmath>

#include "format/diff.hpp"
#include "tools/dataset/attribute_json.hpp"
#include "tools/dataset/read_progress.hpp"
#include "tools/dataset/selection.hpp"

namespace forebay::dataset_tool {
namespace {

using format::BlockDifference;
using format::FieldDifference;
using format::StepCatalog;

/// JSON has no infinity: null means "not finite".
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const BlockDifference& block) {
  constexpr std::string_view kKinds[] = {"only-left", "only-right", "shape", "values"};
  return {{"kind", kKinds[static_cast<std::uint8_t>(block.kind)]},
          {"key", block.key},
          {"elements", block.elements},
          {"first_element", block.first_element},
          {"absolute_max", number(block.absolute_max)},
          {"relative_max", number(block.relative_max)}};
}

Json to_json(const FieldDifference& field) {
  constexpr std::string_view kKinds[] = {"only-left", "only-right", "definition", "values"};
  Json blocks = Json::array();
  for (const BlockDifference& block : field.blocks)
    blocks.push_back(to_json(block));
  return {{"name", field.name},
          {"kind", kKinds[static_cast<std::uint8_t>(field.kind)]},
          {"blocks_different", field.differing_blocks},
          {"absolute_max", number(field.absolute_max)},
          {"relative_max", number(field.relative_max)},
          {"blocks", std::move(blocks)}};
}

Json to_json(const format::AttributeDifference& attribute) {
  constexpr std::string_view kScopes[] = {"dataset", "step", "field"};
  const auto side = [](const std::optional<AttributeValue>& value) {
    return value ? dataset_tool::to_json(*value) : Json(nullptr);
  };
  return {{"scope", kScopes[static_cast<std::uint8_t>(attribute.key.scope)]},
          {"field", attribute.key.field},
          {"name", attribute.key.name},
          {"left", side(attribute.left)},
          {"right", side(attribute.right)}};
}

Result<std::shared_ptr<const StepCatalog>> open(const Side& side) {
  const auto catalog = format::Catalog::open(side.path);
  if (!catalog) return tl::unexpected(catalog.error());
  return step_of(**catalog, side.step);
}

}  // namespace

Result<Json> compare(const CompareOptions& options) {
  const auto left = open(options.left);
  if (!left) return tl::unexpected(left.error());
  const auto right = open(options.right);
  if (!right) return tl::unexpected(right.error());
  for (const std::string& name : options.fields) {
    if ((*right)->find_field(name) != nullptr) continue;
    if (const Status found = check_field(**left, options.left.path, name); !found)
      return tl::unexpected(found.error());
  }
  const auto report = format::diff(
      **left, **right,
      {.blocks_max = options.blocks_max,
       .fields = options.fields,
       .progress = read_progress(options.progress, {"comparing " + options.left.path})});
  if (!report) return tl::unexpected(report.error());
  Json fields = Json::array();
  for (const FieldDifference& difference : report->fields)
    fields.push_back(to_json(difference));
  Json attributes = Json::array();
  for (const format::AttributeDifference& attribute : report->attributes)
    attributes.push_back(to_json(attribute));
  return Json{{"ok", report->fields.empty() && report->attributes.empty()},
              {"left", {{"path", options.left.path}, {"step", (*left)->entry().step}}},
              {"right", {{"path", options.right.path}, {"step", (*right)->entry().step}}},
              {"fields_compared", report->fields_compared},
              {"blocks_compared", report->blocks_compared},
              {"blocks_by_checksum", report->blocks_matched_by_checksum},
              {"attributes", std::move(attributes)},
              {"fields", std::move(fields)}};
}

}  // namespace forebay::dataset_tool
