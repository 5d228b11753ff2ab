// SPDX-License-Identifier: Apache-2.0
// Small text files of /proc and /sys, read the one way that is right for them: whole, and empty
// where absent. Every fact the probe reports comes from such a file, and most of them are missing
// on some machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace forebay::probe {

/// The whole text of a small file, without white space at its end; empty if it cannot be read.
std::string read_text(const std::filesystem::path& path);

/// The number at the start of a small file; nothing if there is none.
std::optional<std::uint64_t> read_number(const std::filesystem::path& path);

/// The rest of the first line that begins with `key` ("MemTotal:", "model name"), without blanks,
/// tabs and a colon before it; empty if no line does.
std::string value_after(const std::string& text, const std::string& key);

/// What stands in the square brackets of a choice file ("none [mq-deadline]"), or the whole text
/// without brackets.
std::string chosen_of(const std::string& text);

}  // namespace forebay::probe
