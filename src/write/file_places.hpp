// SPDX-License-Identifier: Apache-2.0
// Where the files of a step lie on a machine, for what works out costs and what plays them.
#pragma once

#include <cstdint>

#include "model/layout.hpp"
#include "write/plan.hpp"

namespace forebay::write {

/// How file `file` of a step is cut: as the plan says, else as the machine does.
model::Layout layout_of_file(const model::Machine& machine, const WritePlan& plan, FileNumber file);

/// model::name_hash() of a file of a step, all of which lie in one folder.
std::uint64_t name_hash_of_file(const model::Machine& machine, FileNumber file);

}  // namespace forebay::write
