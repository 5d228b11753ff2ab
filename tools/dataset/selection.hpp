// SPDX-License-Identifier: Apache-2.0
// Selects the step and the fields of a command. Shared, so that --step and --field have the same
// meaning in all commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/catalog.hpp"

namespace forebay::dataset_tool {

/// The step with this number, or the newest; kNotFound if it does not exist.
Result<std::shared_ptr<const format::StepCatalog>> step_of(format::Catalog& catalog,
                                                           std::optional<std::uint64_t> step);

/// kNotFound, with the names of all fields, if the step has no field with this name.
Status check_field(const format::StepCatalog& step,
                   const std::string& path,
                   const std::string& name);

/// What to export.
struct Selection {
  std::string path;
  std::optional<std::uint64_t> step = {};  ///< the newest if none is given
  std::vector<std::string> fields = {};    ///< all if none is given
};

struct Selected {
  std::shared_ptr<const format::StepCatalog> step;
  std::vector<format::StepField> fields;
};

/// kNotFound if the step or a field does not exist. Fails with the damage if a step has damage that
/// hides blocks, as the export would appear complete. Fails too for a field of which two blocks
/// have the same elements, as one of them would hide the other.
Result<Selected> select(const Selection& selection);

}  // namespace forebay::dataset_tool
