// SPDX-License-Identifier: Apache-2.0
// Makes the tables of a dataset anew, by the path of publishing: under the lease, and into a copy
// of `commits` that former writers do not have open.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include "format/repair.hpp"

namespace forebay::write {

/// Carries out format::plan_repair(), whose report it returns. Blocks. The lease is held meanwhile
/// (see Lease::acquire()), and `commits` is replaced by a copy even if nothing is damaged.
///
/// A writer that takes the lease over meanwhile, as after a long pause of this process, loses
/// nothing: what this call still writes goes into a file that is not read any more, and the call
/// fails. If the power goes, the generation of `commits` that was in force stays in force or is
/// followed by the new one; where none was in force, the next call begins again.
Result<format::RepairReport> repair(const std::string& folder,
                                    const format::OnProgress& progress = {});

}  // namespace forebay::write
