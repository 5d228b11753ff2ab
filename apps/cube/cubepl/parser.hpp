// SPDX-License-Identifier: Apache-2.0
// From the text of a script to its syntax tree, by recursive descent over the grammar of
// docs/formats/remapping.md. Words of CubePL that are not executed are known here, so that an
// error can say that they exist and are outside.
#pragma once

#include <string_view>

#include "cube/cubepl/script.hpp"
#include "cube/cubepl/syntax.hpp"

namespace forebay::cubepl {

/// The tree of `text`; an empty one if there are no words in it. The fault is kInvalidArgument, or
/// kUnsupported for what CubePL has and Forebay does not execute.
tl::expected<Tree, Fault> parse(std::string_view text);

}  // namespace forebay::cubepl
