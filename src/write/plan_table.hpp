// SPDX-License-Identifier: Apache-2.0
// A plan as a table of a larger TOML file.
#pragma once

#include <forebay/write_plan.hpp>

#include <toml++/toml.h>

#include "model/machine_reader.hpp"

namespace forebay::write {

/// The plan in a table with the keys of a plan file. Reports unknown keys and wrong values.
WritePlan read_plan_table(const toml::table& table, model::ParseErrors& errors);

}  // namespace forebay::write
