// SPDX-License-Identifier: Apache-2.0
// Records as lines of text, with tabs or commas (docs/formats/trace.md#text). Line by line, so a
// trace of any length needs no memory.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace_record.hpp"

namespace forebay::trace {

/// A record and its source.
struct TextRecord {
  std::uint64_t process = 0;
  std::optional<std::uint32_t> rank = {};
  std::uint64_t thread = 0;
  TraceRecord record = {};

  friend bool operator==(const TextRecord&, const TextRecord&) = default;
};

struct TextLayout {
  char separator = ',';
  std::vector<std::size_t> columns = {};  ///< numbers of the columns in the order of the page

  /// As export writes it.
  static TextLayout all_columns();
};

/// The first line, without line break.
std::string text_header(const TextLayout& layout);
/// A line, without line break. Its columns parse to the same values; an unknown offset or time is
/// empty.
std::string text_line(const TextLayout& layout, const TextRecord& record);

/// Parses a text. One thread at a time.
class TextParser {
 public:
  /// `path` is for Errors.
  explicit TextParser(std::string path) : path_(std::move(path)) {}

  /// Takes the next line, without line break. No value for the first line and for empty ones. Fails
  /// with kInvalidArgument; the Error names line and column.
  Result<std::optional<TextRecord>> parse_line(std::string_view line);

  /// From the first line.
  const TextLayout& layout() const noexcept { return layout_; }

 private:
  Result<TextLayout> parse_header(std::string_view line) const;
  Result<TextRecord> parse_record(const std::vector<std::string_view>& cells) const;
  tl::unexpected<Error> error(std::string cause) const;

  std::string path_;
  std::uint64_t line_ = 0;
  TextLayout layout_;
};

}  // namespace forebay::trace
