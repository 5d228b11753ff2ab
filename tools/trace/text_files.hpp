// SPDX-License-Identifier: Apache-2.0
// Traces to and from text, line by line (docs/formats/trace.md#text).
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace forebay::trace_tool {

/// Number of records, of threads and of files.
struct TextCounts {
  std::uint64_t records = 0;
  std::uint64_t sources = 0;
  std::uint64_t files = 0;
  std::vector<std::string> warnings = {};  ///< of the trace: it ends with an incomplete block
};

/// Writes the records of a trace to the file `text_path`, which appears when it is complete. Fails
/// as TraceReader does.
Result<TextCounts> export_text(const std::string& trace_path, const std::string& text_path);

/// Reads a text and writes a trace, which appears when it is complete. Each combination of process,
/// rank and thread is a source. File n of the text gets the path of line n + 1 of `names_path`, or
/// "file n" if that is empty. Fails as TextParser does.
Result<TextCounts> import_text(const std::string& text_path,
                               const std::string& names_path,
                               const std::string& trace_path);

}  // namespace forebay::trace_tool
