// SPDX-License-Identifier: Apache-2.0
// The arguments of the command `remap`.
#pragma once

#include <forebay/error.hpp>

#include "command/arguments.hpp"
#include "cube/describe.hpp"
#include "cube/remap.hpp"

namespace forebay::cube {

const command::ArgumentSpec& remap_rules();
/// Fails with a usage error if the arguments are invalid.
Result<RemapOptions> remap_options(const command::Arguments& arguments);
Result<Json> run_remap(const command::Arguments& arguments);

}  // namespace forebay::cube
