// SPDX-License-Identifier: Apache-2.0
// A limit on how deep the keys of a TOML text go, checked before it is parsed: the parser makes a
// table for each part of a dotted key and destroys them by recursion, so that a text of 100 KB
// could use up the stack.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace forebay {

/// Parts of a key, with those of the inline tables that it is in. Nothing that we read has more
/// than three.
inline constexpr std::size_t kKeyPartsMax = 64;

/// kInvalidArgument, with the line, if a key has more parts. Takes time in proportion to the text,
/// which need not be valid TOML. `operation` and `path` are for the Error.
Status check_toml_nesting(std::string_view text,
                          std::string_view operation,
                          const std::string& path);

}  // namespace forebay
