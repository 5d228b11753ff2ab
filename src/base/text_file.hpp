// SPDX-License-Identifier: Apache-2.0
// Reads a small file whole, as settings and descriptions are.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <string_view>

namespace forebay {

/// Files longer than this are no text that somebody wrote.
inline constexpr std::size_t kTextFileBytesMax = std::size_t{1} << 20U;

/// All of the file, at most kTextFileBytesMax: a longer one is an Error, as is one that cannot be
/// read. `operation` is what errors say was done ("read settings from").
Result<std::string> read_text_file(const std::string& path, std::string_view operation);

}  // namespace forebay
