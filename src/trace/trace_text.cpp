// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/name_list.hpp"
#include "base/printable.hpp"

namespace forebay::trace {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kDecimalsMin = 6;
constexpr std::size_t kDecimalsMax = 9;

/// By TraceOperation.
constexpr std::array<std::string_view, 6> kOperationNames = {"open",  "read", "write",
                                                             "close", "sync", "seek"};

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t end = line.find(separator);
    cells.push_back(trim(line.substr(0, end)));
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(end + 1);
  }
}

std::string with_case(std::string_view text, int (*convert)(int)) {
  std::string result(text);
  for (char& letter : result)
    letter = static_cast<char>(convert(static_cast<unsigned char>(letter)));
  return result;
}

// Parsers return false if the text is not such a value.

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Exact to the nanosecond; further digits are ignored.
bool parse_seconds(std::string_view text, std::uint64_t& ns) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string fraction(text.substr(std::min(point + 1, text.size())));
  if (fraction.find_first_not_of("0123456789") != std::string::npos) return false;
  fraction.resize(kDecimalsMax, '0');
  std::uint64_t seconds = 0;
  std::uint64_t rest = 0;
  if (!parse(text.substr(0, point), seconds) || !parse(fraction, rest)) return false;
  ns = seconds * kSecondNs + rest;
  return seconds <= kTraceNumberMax / kSecondNs;
}

std::string seconds_text(std::uint64_t ns) {
  std::string decimals = std::to_string(ns % kSecondNs);
  decimals.insert(0, kDecimalsMax - decimals.size(), '0');
  decimals.resize(std::max(decimals.find_last_not_of('0') + 1, kDecimalsMin));
  return std::to_string(ns / kSecondNs) + "." + decimals;
}

bool parse_operation(std::string_view text, TraceRecord& record) {
  const std::string name = with_case(text, std::tolower);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  const auto found = std::ranges::find_if(kOperationNames, has);
  if (found == kOperationNames.end()) return false;
  record.operation = static_cast<TraceOperation>(found - kOperationNames.begin());
  if (name.starts_with("mpi") && (has("all") || has("ordered"))) record.flags |= kFlagCollective;
  return true;
}

std::string operation_text(const TraceRecord& record) {
  const std::string_view name = kOperationNames[static_cast<std::size_t>(record.operation)];
  if ((record.flags & kFlagCollective) == 0) return std::string(name);
  return "MPI_" + with_case(name, std::toupper) + "ALL";
}

bool parse_duration(std::string_view text, std::uint32_t& duration_ns) {
  std::uint64_t ns = 0;
  if (!parse_seconds(text, ns)) return false;
  duration_ns = static_cast<std::uint32_t>(std::min<std::uint64_t>(ns, UINT32_MAX));
  return true;
}

bool parse_flags(std::string_view text, TraceRecord& record) {
  std::uint8_t flags = 0;
  if (!parse(text, flags)) return false;
  record.flags |= flags;
  return true;
}

/// Sets `flag` for an empty cell.
bool is_unknown(std::string_view text, TraceRecord& record, std::uint8_t flag) {
  if (text.empty()) record.flags |= flag;
  return text.empty();
}

using std::to_string;
using Text = std::string_view;

struct TextColumn {
  Text name;
  bool is_required;
  bool (*parse_cell)(Text, TextRecord&);
  std::string (*cell_text)(const TextRecord&);
};

/// By TextColumn.
constexpr std::array kColumns = {
    TextColumn{"Proc ID", false, [](Text text, TextRecord& to) { return parse(text, to.process); },
               [](const TextRecord& from) { return to_string(from.process); }},
    TextColumn{
        "Rank", false,
        [](Text text, TextRecord& to) { return text.empty() || parse(text, to.rank.emplace()); },
        [](const TextRecord& from) { return from.rank ? to_string(*from.rank) : ""; }},
    TextColumn{"File #", false,
               [](Text text, TextRecord& to) { return parse(text, to.record.file); },
               [](const TextRecord& from) { return to_string(from.record.file); }},
    TextColumn{"File Pos", true,
               [](Text text, TextRecord& to) {
                 return is_unknown(text, to.record, kFlagOffsetUnknown) ||
                        parse(text, to.record.offset);
               },
               [](const TextRecord& from) {
                 const bool is_unknown = (from.record.flags & kFlagOffsetUnknown) != 0;
                 return is_unknown ? "" : to_string(from.record.offset);
               }},
    TextColumn{"# of Bytes", true,
               [](Text text, TextRecord& to) { return parse(text, to.record.size); },
               [](const TextRecord& from) { return to_string(from.record.size); }},
    TextColumn{"Time(s)", false,
               [](Text text, TextRecord& to) {
                 return is_unknown(text, to.record, kFlagTimeUnknown) ||
                        parse_seconds(text, to.record.begin_ns);
               },
               [](const TextRecord& from) {
                 const bool is_unknown = (from.record.flags & kFlagTimeUnknown) != 0;
                 return is_unknown ? "" : seconds_text(from.record.begin_ns);
               }},
    TextColumn{"I/O Op", true,
               [](Text text, TextRecord& to) { return parse_operation(text, to.record); },
               [](const TextRecord& from) { return operation_text(from.record); }},
    TextColumn{"Thread", false, [](Text text, TextRecord& to) { return parse(text, to.thread); },
               [](const TextRecord& from) { return to_string(from.thread); }},
    TextColumn{
        "Duration(s)", false,
        [](Text text, TextRecord& to) { return parse_duration(text, to.record.duration_ns); },
        [](const TextRecord& from) { return seconds_text(from.record.duration_ns); }},
    TextColumn{"Flags", false,
               [](Text text, TextRecord& to) { return parse_flags(text, to.record); },
               [](const TextRecord& from) { return to_string(from.record.flags); }},
};
constexpr std::size_t kTimeColumn = 5;
static_assert(kColumns[kTimeColumn].name == "Time(s)");

bool has_column(const TextLayout& layout, std::size_t column) {
  return std::ranges::find(layout.columns, column) != layout.columns.end();
}

template <class Cell>
std::string join(const TextLayout& layout, Cell cell) {
  std::string line;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    if (i > 0) line += layout.separator;
    line += cell(kColumns[layout.columns[i]]);
  }
  return line;
}

}  // namespace

TextLayout TextLayout::all_columns() {
  TextLayout layout;
  for (std::size_t i = 0; i < kColumns.size(); ++i)
    layout.columns.push_back(i);
  return layout;
}

std::string text_header(const TextLayout& layout) {
  return join(layout, [](const TextColumn& column) { return column.name; });
}

std::string text_line(const TextLayout& layout, const TextRecord& record) {
  return join(layout, [&](const TextColumn& column) { return column.cell_text(record); });
}

tl::unexpected<Error> TextParser::error(std::string cause) const {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read trace",
                  .path = path_,
                  .cause = "line " + to_string(line_) + ": " + std::move(cause)});
}

Result<TextLayout> TextParser::parse_header(std::string_view line) const {
  TextLayout layout{line.find('\t') != std::string_view::npos ? '\t' : ',', {}};
  NameList valid;
  for (const TextColumn& column : kColumns)
    valid.add(column.name);
  for (const std::string_view name : split(line, layout.separator)) {
    const auto found = std::ranges::find(kColumns, name, &TextColumn::name);
    if (found == kColumns.end())
      return error("unknown column `" + to_printable(name) + "`; valid: " + valid.text());
    const auto column = static_cast<std::size_t>(found - kColumns.begin());
    if (has_column(layout, column)) return error("column `" + std::string(name) + "` twice");
    layout.columns.push_back(column);
  }
  for (std::size_t i = 0; i < kColumns.size(); ++i)
    if (kColumns[i].is_required && !has_column(layout, i))
      return error("no column `" + std::string(kColumns[i].name) + "`");
  return layout;
}

Result<std::optional<TextRecord>> TextParser::parse_line(std::string_view line) {
  ++line_;
  if (trim(line).empty()) return std::optional<TextRecord>();
  if (layout_.columns.empty()) {
    auto layout = parse_header(line);
    if (!layout) return failure(layout.error());
    layout_ = std::move(*layout);
    return std::optional<TextRecord>();
  }
  return parse_record(split(line, layout_.separator)).map([](const TextRecord& record) {
    return std::optional(record);
  });
}

Result<TextRecord> TextParser::parse_record(const std::vector<std::string_view>& cells) const {
  if (cells.size() != layout_.columns.size())
    return error(to_string(cells.size()) + " columns instead of " +
                 to_string(layout_.columns.size()));
  TextRecord result;
  result.record.file = 0;
  if (!has_column(layout_, kTimeColumn)) result.record.flags = kFlagTimeUnknown;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const TextColumn& column = kColumns[layout_.columns[i]];
    if (!column.parse_cell(cells[i], result))
      return error("column `" + std::string(column.name) + "`: invalid value `" +
                   to_printable(cells[i]) + "`");
  }
  if (!is_valid(result.record)) return error("a number exceeds the limits of a trace");
  return result;
}

}  // namespace forebay::trace
