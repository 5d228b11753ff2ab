// SPDX-License-Identifier: Apache-2.0
// Verifies all of a profile: archive, description, indexes, tables, and each row.
#pragma once

#include <string>

#include "command/progress.hpp"
#include "cube/describe.hpp"

namespace forebay::cube {

struct CheckOptions {
  std::string path;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// The document of `check`; "ok" is false if there are problems. Damage is a problem, a file that
/// cannot be opened or read is an Error.
Result<Json> check(const CheckOptions& options);

}  // namespace forebay::cube
