// SPDX-License-Identifier: Apache-2.0
#include "cube/anchor_text.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "cube/anchor.hpp"
#include "cube/compression.hpp"

namespace forebay::cube {

namespace {

constexpr std::uint64_t kAnchorBytesMax = 4ULL << 30U;
/// Measured: 25, with 65,535 locations and level 9.
constexpr std::uint64_t kAnchorInflationMax = 64;
constexpr std::uint64_t kAnchorBytesLimitMin = 16ULL << 20U;
/// Per compressed byte; each takes up to 64 bytes of the document. Measured: 2.
constexpr std::uint64_t kAnchorTagsPerByteMax = 8;
constexpr std::uint64_t kAnchorTagsLimitMin = 1ULL << 20U;
constexpr std::array<std::string_view, 2> kUnquotedAttributes{"cubeplaggrtype=", "rowwise="};

/// If one of these attributes begins at the blank at `at` and its value has no quotes, returns the
/// position after '='; else npos. `at` must be in a tag.
std::size_t unquoted_value_at(std::string_view text, std::size_t at) {
  for (const std::string_view name : kUnquotedAttributes) {
    if (!text.substr(at + 1).starts_with(name)) continue;
    const std::size_t value = at + 1 + name.size();
    const bool is_bare = value < text.size() && text[value] != '"' && text[value] != '\'';
    return is_bare ? value : std::string_view::npos;
  }
  return std::string_view::npos;
}

}  // namespace

// Metrics are at the beginning, and many megabytes of locations may follow. One pass: the last
// bracket before a position determines whether it is in a tag.
std::string quote_attributes(std::string text) {
  const std::string_view metrics = std::string_view(text).substr(0, text.rfind("</metrics"));
  std::string result;
  std::size_t done = 0;
  bool is_in_tag = false;
  for (std::size_t at = 0; at < metrics.size(); ++at) {
    if (metrics[at] == '<' || metrics[at] == '>') is_in_tag = metrics[at] == '<';
    if (!is_in_tag || metrics[at] != ' ') continue;
    const std::size_t value = unquoted_value_at(metrics, at);
    if (value == std::string_view::npos) continue;
    const std::size_t end = std::min(text.find_first_of(" />\n", value), text.size());
    result.append(text, done, value - done).append("\"");
    result.append(text, value, end - value).append("\"");
    done = end;
    at = end - 1;
  }
  if (done == 0) return text;
  return result.append(text, done);
}

FoldedText fold_groups(std::string_view text) {
  constexpr std::string_view kOpening = "<locationgroup";
  constexpr std::string_view kClosing = "</locationgroup>";
  FoldedText folded;
  std::size_t done = 0;
  for (std::size_t begin = text.find(kOpening); begin != std::string_view::npos;
       begin = text.find(kOpening, done)) {
    const std::size_t closing = text.find(kClosing, begin);
    if (closing == std::string_view::npos) break;
    const std::size_t end = closing + kClosing.size();
    folded.text.append(text.substr(done, begin - done));
    folded.text.append(kOpening).append(" n=\"");
    folded.text.append(std::to_string(folded.groups.size())).append("\"/>");
    folded.groups.push_back(text.substr(begin, end - begin));
    done = end;
  }
  folded.text.append(text.substr(done));
  return folded;
}

std::string escape_xml(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\r':
        result += "&#13;";  // a parser would read it as an end of line
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string escape_xml_attribute(std::string_view text) {
  std::string result;
  for (const char c : escape_xml(text)) {
    // A parser would read these as blanks.
    if (c == '\n') {
      result += "&#10;";
    } else if (c == '\t') {
      result += "&#9;";
    } else {
      result += c;
    }
  }
  return result;
}

Result<std::string> decompress_anchor(std::string member) {
  if (!member.starts_with("\x1f\x8b")) return member;
  const std::uint64_t limit = std::max(kAnchorBytesLimitMin, member.size() * kAnchorInflationMax);
  auto text = inflate_gzip(std::as_bytes(std::span(member)), std::min(limit, kAnchorBytesMax));
  if (!text) return text;
  // Count elements and attributes: a document takes more memory for them than their text.
  const auto marks = static_cast<std::uint64_t>(
      std::ranges::count_if(*text, [](char c) { return c == '<' || c == '='; }));
  const std::uint64_t marks_max =
      std::max(kAnchorTagsLimitMin, member.size() * kAnchorTagsPerByteMax);
  if (marks <= marks_max) return text;
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "unpack",
                  .cause = fmt::format("{} bytes become {} tags and attributes, more than {}",
                                       member.size(), marks, marks_max)});
}

}  // namespace forebay::cube
