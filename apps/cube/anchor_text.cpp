// SPDX-License-Identifier: Apache-2.0
#include "cube/anchor_text.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "cube/anchor.hpp"
#include "cube/inflater.hpp"

namespace forebay::cube {

namespace {

constexpr std::uint64_t kAnchorBytesMax = 4ULL << 30U;
constexpr std::array<std::string_view, 2> kBareAttributes{"cubeplaggrtype=", "rowwise="};

/// The first attribute without quotes from `begin` on: where its value begins; npos if none.
std::size_t find_bare(std::string_view text, std::size_t begin) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view name : kBareAttributes) {
    for (std::size_t at = text.find(name, begin); at < first; at = text.find(name, at + 1)) {
      const std::size_t value = at + name.size();
      const bool is_attribute = at > 0 && text[at - 1] == ' ' && value < text.size();
      if (!is_attribute || text[value] == '"' || text[value] == '\'') continue;
      // In content the bracket before it is one that closes a tag.
      const std::size_t bracket = text.find_last_of("<>", at);
      if (bracket == std::string_view::npos || text[bracket] != '<') continue;
      first = value;
    }
  }
  return first;
}

}  // namespace

// Metrics are at the beginning, and what follows may be many megabytes of locations.
std::string with_quotes(std::string text) {
  const std::string_view metrics = std::string_view(text).substr(0, text.rfind("</metrics"));
  if (find_bare(metrics, 0) == std::string_view::npos) return text;
  std::string result;
  result.reserve(text.size() + 64);
  std::size_t done = 0;
  for (std::size_t value = find_bare(metrics, 0); value != std::string_view::npos;
       value = find_bare(metrics, done)) {
    const std::size_t end = std::min(text.find_first_of(" />\n", value), text.size());
    result.append(text, done, value - done).append("\"");
    result.append(text, value, end - value).append("\"");
    done = end;
  }
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

std::string escaped(std::string_view text) {
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
        result += "&#13;";  // else reading makes it an end of line
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string escaped_attribute(std::string_view text) {
  std::string result;
  for (const char c : escaped(text)) {
    // Reading makes blanks of these.
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

Result<std::string> anchor_text(std::string member) {
  if (!member.starts_with("\x1f\x8b")) return member;
  return inflate_gzip(std::as_bytes(std::span(member)), kAnchorBytesMax);
}

}  // namespace forebay::cube
