// SPDX-License-Identifier: Apache-2.0
// The words of the command `remap`.
#pragma once

#include <forebay/error.hpp>

#include "command/arguments.hpp"
#include "cube/describe.hpp"
#include "cube/remap.hpp"

namespace forebay::cube {

const command::ArgumentRules& remap_rules();
/// A usage error says what is wrong with the words.
Result<RemapOptions> remap_options(const command::Arguments& arguments);
Result<Json> run_remap(const command::Arguments& arguments);

}  // namespace forebay::cube
