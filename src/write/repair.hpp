// SPDX-License-Identifier: Apache-2.0
// repair(): rebuilds the tables of a dataset as a holder publishes steps: it holds the lease, and
// writes into a copy of `commits` that former holders do not have open.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include "format/repair.hpp"

namespace forebay::write {

/// Carries out format::plan_repair() and returns its report. Blocks. Holds the lease meanwhile (see
/// Lease::acquire()), and replaces `commits` by a copy even if nothing is damaged.
///
/// If this process is paused for long, another holder may take the lease over. It loses nothing:
/// later writes of this call go into a file that is no longer read, and the call fails. After a
/// power failure the previous generation of `commits` is in force, or the new one. If no generation
/// was in force, the next call repeats the repair.
Result<format::RepairReport> repair(const std::string& directory,
                                    const format::ProgressCallback& progress = {});

}  // namespace forebay::write
