// SPDX-License-Identifier: Apache-2.0
// Parses the text of a script to its syntax tree, by recursive descent over the grammar of
// docs/formats/remapping.md. Constructs of CubePL that Forebay does not execute are recognized, so
// that their error states that they are unsupported.
#pragma once

#include <string_view>

#include "cube/cubepl/script.hpp"
#include "cube/cubepl/syntax.hpp"

namespace forebay::cubepl {

/// Returns the tree of `text`; it is empty if the text has no tokens. Fails with kInvalidArgument,
/// or with kUnsupported for a construct of CubePL that Forebay does not execute.
tl::expected<Tree, ScriptError> parse(std::string_view text);

}  // namespace forebay::cubepl
