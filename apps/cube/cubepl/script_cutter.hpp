// SPDX-License-Identifier: Apache-2.0
// Cuts the scripts out of a specification. Their elements are not XML: a < in them is an operator
// and their attributes have no quotes. What is left is given to an XML parser, with the number of
// the script in each one's place.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cube/cubepl/script.hpp"

namespace forebay::cubepl {

enum class ScriptRole : std::uint8_t {
  kExpression,
  kExpressionByValue,  ///< with rowwise=false
  kInit,
  kPlus,
  kMinus,
  kAggregation
};

struct CutScript {
  ScriptRole role = ScriptRole::kExpression;
  Script script;
};

struct Cut {
  /// The text with <cubepl n="3"/> where the script with the index 3 was.
  std::string xml;
  std::vector<CutScript> scripts;

  /// Where in the whole text the byte at `offset` of xml is.
  std::size_t offset_in_text(std::size_t offset) const;

  /// Where the text goes on after a script, there and here.
  struct Joint {
    std::size_t in_xml = 0;
    std::size_t in_text = 0;
  };
  std::vector<Joint> joints;
};

/// The fault's offset is in `text`.
tl::expected<Cut, Fault> cut_scripts(std::string_view text);

}  // namespace forebay::cubepl
