// SPDX-License-Identifier: Apache-2.0
// Layout of the files of a step on a machine, for cost formulas and simulations.
#pragma once

#include <cstdint>

#include "model/layout.hpp"
#include "write/plan.hpp"

namespace forebay::write {

/// Layout of file `file` of a step: as the plan sets it, else as the machine does.
model::Layout layout_of_file(const model::Machine& machine, const WritePlan& plan, FileNumber file);

/// model::name_hash() of a file of a step. All files of a step are in one directory.
std::uint64_t name_hash_of_file(const model::Machine& machine, FileNumber file);

}  // namespace forebay::write
