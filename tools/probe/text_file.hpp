// SPDX-License-Identifier: Apache-2.0
// Reads small text files of /proc and /sys: whole, and empty if absent. Most of these files are
// missing on some machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace forebay::probe {

/// The whole text of a small file, without white space at its end; empty if it cannot be read.
std::string read_text(const std::filesystem::path& path);

/// The number at the start of a small file; empty without a number.
std::optional<std::uint64_t> read_number(const std::filesystem::path& path);

/// The rest of the first line that begins with `key` ("MemTotal:", "model name"), without blanks,
/// tabs and a colon before it; empty if no line does.
std::string value_after(const std::string& text, const std::string& key);

/// The text in the square brackets of a choice file ("none [mq-deadline]"), or the whole text
/// without brackets.
std::string selected_choice(const std::string& text);

}  // namespace forebay::probe
