// SPDX-License-Identifier: Apache-2.0
// Which step and which fields of a dataset a command is about. All commands mean the same by
// --step and --field, so it is here once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/catalog.hpp"

namespace forebay::dataset_tool {

/// The step of this number, or the newest one; kNotFound if there is none.
Result<std::shared_ptr<const format::StepCatalog>> step_of(format::Catalog& catalog,
                                                           std::optional<std::uint64_t> step);

/// kNotFound, with the names of all fields, if the step has none of this name.
Status check_field(const format::StepCatalog& step,
                   const std::string& path,
                   const std::string& name);

/// What is to be exported.
struct Selection {
  std::string path;
  std::optional<std::uint64_t> step = {};  ///< the newest, if none is given
  std::vector<std::string> fields = {};    ///< all, if none is given
};

struct Selected {
  std::shared_ptr<const format::StepCatalog> step;
  std::vector<format::StepField> fields;
};

/// kNotFound if there is no such step or field. A step with a damage that hides blocks is refused
/// with that: what is exported would look whole. So is a field of which two blocks have the same
/// elements, as one of them would hide the other.
Result<Selected> select(const Selection& selection);

}  // namespace forebay::dataset_tool
