// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/selection.hpp"

#include <algorithm>

#include "base/name_list.hpp"
#include "format/overlapping_blocks.hpp"

namespace forebay::dataset_tool {

using format::Catalog;
using format::StepCatalog;

Result<std::shared_ptr<const StepCatalog>> step_of(Catalog& catalog,
                                                   std::optional<std::uint64_t> step) {
  if (step) return catalog.step(*step);
  if (!catalog.steps().empty()) return catalog.step(catalog.steps().back().step);
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "open",
                  .path = catalog.directory(),
                  .cause = "it has no steps; none was published yet, or all were dropped"});
}

Status check_field(const StepCatalog& step, const std::string& path, const std::string& name) {
  NameList names;
  for (const format::StepField& field : step.fields()) {
    if (field.definition.name == name) return {};
    names.add(field.definition.name);
  }
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "select",
                  .path = path,
                  .cause = "step " + std::to_string(step.entry().step) + " has no field " + name +
                           "; it has " + names.text()});
}

Result<Selected> select(const Selection& selection) {
  const auto catalog = Catalog::open(selection.path);
  if (!catalog) return tl::unexpected(catalog.error());
  const auto step = step_of(**catalog, selection.step);
  if (!step) return tl::unexpected(step.error());
  if (!(*step)->errors().empty()) return tl::unexpected(Error((*step)->errors().front()));
  Selected selected = {.step = *step, .fields = {}};
  for (const std::string& name : selection.fields)
    if (const Status found = check_field(**step, selection.path, name); !found)
      return tl::unexpected(found.error());
  const auto& wanted = selection.fields;
  for (const format::StepField& field : (*step)->fields())
    if (wanted.empty() || std::ranges::find(wanted, field.definition.name) != wanted.end())
      selected.fields.push_back(field);
  for (const format::StepField& field : selected.fields)
    if (const Status clear = format::check_no_overlap(**step, field, "export"); !clear)
      return tl::unexpected(clear.error());
  return selected;
}

}  // namespace forebay::dataset_tool
