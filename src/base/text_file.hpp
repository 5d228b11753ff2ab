// SPDX-License-Identifier: Apache-2.0
// read_text_file(): reads a small file completely, such as settings and descriptions.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <string_view>

namespace forebay {

/// Longer files are not text for people.
inline constexpr std::size_t kTextFileBytesMax = std::size_t{1} << 20U;

/// The content of the file. A file longer than `bytes_max`, which is whole MiB, is an Error, as is
/// a file that cannot be read. `operation` is the operation in the Error ("read settings from").
Result<std::string> read_text_file(const std::string& path,
                                   std::string_view operation,
                                   std::size_t bytes_max = kTextFileBytesMax);

}  // namespace forebay
