// SPDX-License-Identifier: Apache-2.0
// Extracts the scripts of a specification. Their elements are not XML: a < in them is an operator,
// and their attributes have no quotes. The rest is XML, in which the number of a script replaces
// the script.
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
  kValueExpression,  ///< with rowwise=false
  kInit,
  kPlus,
  kMinus,
  kAggregation
};

struct ExtractedScript {
  ScriptRole role = ScriptRole::kExpression;
  Script script;
};

struct ExtractedScripts {
  /// The text with <cubepl n="3"/> in place of the script with index 3.
  std::string xml;
  std::vector<ExtractedScript> scripts;

  /// The offset in the original text of the byte at `offset` of `xml`.
  std::size_t source_offset(std::size_t offset) const;

  /// The end of a script, in `xml` and in the original text.
  struct Splice {
    std::size_t in_xml = 0;
    std::size_t in_text = 0;
  };
  std::vector<Splice> splices;
};

/// The offset of the error is in `text`.
tl::expected<ExtractedScripts, ScriptError> extract_scripts(std::string_view text);

}  // namespace forebay::cubepl
