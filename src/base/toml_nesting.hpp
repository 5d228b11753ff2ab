// SPDX-License-Identifier: Apache-2.0
// check_toml_nesting(): limits the depth of keys in a TOML text before it is parsed. The parser
// creates a table for each part of a dotted key and destroys them by recursion. A text of 100 KB
// could exhaust the stack.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace forebay {

/// Parts of a key, including those of enclosing inline tables. Valid files have at most three.
inline constexpr std::size_t kKeyPartsMax = 64;

/// kInvalidArgument, with the line, if a key has more parts. Takes time linear in the text, which
/// need not be valid TOML. `operation` and `path` are for the Error.
Status check_toml_nesting(std::string_view text,
                          std::string_view operation,
                          const std::string& path);

}  // namespace forebay
