// SPDX-License-Identifier: Apache-2.0
// repair(): rebuilds the tables of a dataset in the way of a writer that publishes: under the
// lease, and into a copy of `commits` that former writers do not have open.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include "format/repair.hpp"

namespace forebay::write {

/// Carries out format::plan_repair() and returns its report. Blocks. Holds the lease meanwhile (see
/// Lease::acquire()), and replaces `commits` by a copy even if nothing is damaged.
///
/// A writer that takes the lease over meanwhile, as after a long pause of this process, loses
/// nothing: later writes of this call go into a file that is not read any more, and the call fails.
/// After a power failure the previous generation of `commits` is in force, or the new one. If none
/// was in force, the next call begins again.
Result<format::RepairReport> repair(const std::string& directory,
                                    const format::ProgressCallback& progress = {});

}  // namespace forebay::write
