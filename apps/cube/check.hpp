// SPDX-License-Identifier: Apache-2.0
// Verifies a complete profile: archive, description, indexes, tables and every row.
#pragma once

#include <string>

#include "command/progress.hpp"
#include "cube/describe.hpp"

namespace forebay::cube {

struct CheckOptions {
  std::string path;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Returns the document of `check`; its "ok" is false if there are problems. Damage is a problem; a
/// file that cannot be opened or read is an Error.
Result<Json> check(const CheckOptions& options);

}  // namespace forebay::cube
