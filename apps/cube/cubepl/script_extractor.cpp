// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/script_extractor.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace forebay::cubepl {
namespace {

/// The opening tag of a script.
struct Tag {
  std::string_view name;
  std::string_view attributes;
  std::size_t end = 0;  ///< after its '>'
};

struct AttributeRole {
  std::string_view name;
  std::string_view attributes;
  ScriptRole role;
};

/// Attributes without quotes and white space.
constexpr std::array<AttributeRole, 7> kRoles = {
    {{"cubepl", "", ScriptRole::kExpression},
     {"cubepl", "rowwise=false", ScriptRole::kValueExpression},
     {"cubepl", "rowwise=true", ScriptRole::kExpression},
     {"cubeplinit", "", ScriptRole::kInit},
     {"cubeplaggr", "cubeplaggrtype=plus", ScriptRole::kPlus},
     {"cubeplaggr", "cubeplaggrtype=minus", ScriptRole::kMinus},
     {"cubeplaggr", "cubeplaggrtype=aggr", ScriptRole::kAggregation}}};

std::string strip_quotes(std::string_view attributes) {
  std::string result;
  for (const char c : attributes)
    if (c != '"' && c != '\'' && c != ' ' && c != '\t' && c != '\n' && c != '\r') result += c;
  return result;
}

std::optional<ScriptRole> role_of(const Tag& tag) {
  const std::string attributes = strip_quotes(tag.attributes);
  for (const AttributeRole& one : kRoles)
    if (one.name == tag.name && one.attributes == attributes) return one.role;
  return std::nullopt;
}

class ScriptExtractor {
 public:
  explicit ScriptExtractor(std::string_view text) : text_(text) {}

  tl::expected<ExtractedScripts, ScriptError> run() {
    while (at_ < text_.size() && !error_) {
      const std::size_t angle = std::min(text_.find('<', at_), text_.size());
      copy_until(angle);
      if (at_ < text_.size()) markup();
    }
    if (error_) return tl::unexpected<ScriptError>(std::move(*error_));
    return std::move(extracted_);
  }

 private:
  void copy_until(std::size_t end) {
    extracted_.xml += text_.substr(at_, end - at_);
    position_ = advance(position_, text_.substr(at_, end - at_));
    at_ = end;
  }
  void skip_until(std::size_t end) {
    position_ = advance(position_, text_.substr(at_, end - at_));
    at_ = end;
  }

  void markup() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("<!--")) {
      copy_through("-->", "a comment");
    } else if (rest.starts_with("<![CDATA[")) {
      copy_through("]]>", "a CDATA section");
    } else if (const auto tag = script_tag()) {
      script(*tag);
    } else {
      copy_until(at_ + 1);
    }
  }

  void copy_through(std::string_view end, std::string_view what) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) {
      fail(fmt::format("{} without its end '{}'", what, end));
    } else {
      copy_until(found + end.size());
    }
  }

  std::optional<Tag> script_tag() const {
    for (const std::string_view name : {"cubeplinit", "cubeplaggr", "cubepl"}) {
      const std::size_t after = at_ + 1 + name.size();
      if (!text_.substr(at_ + 1).starts_with(name) || after >= text_.size()) continue;
      if (std::string_view("> \t\r\n/").find(text_[after]) == std::string_view::npos) continue;
      const std::size_t end = text_.find('>', after);
      if (end == std::string_view::npos) continue;
      return Tag{name, text_.substr(after, end - after), end + 1};
    }
    return std::nullopt;
  }

  void script(const Tag& tag) {
    const auto role = role_of(tag);
    if (!role) {
      fail(
          fmt::format("<{}{}> has unknown attributes; known are rowwise=false and "
                      "cubeplaggrtype=plus, minus, aggr",
                      tag.name, tag.attributes));
      return;
    }
    const std::string closing = fmt::format("</{}>", tag.name);
    const std::size_t end = text_.find(closing, tag.end);
    if (end == std::string_view::npos) {
      fail(fmt::format("<{}> without its end '{}'", tag.name, closing));
      return;
    }
    skip_until(tag.end);
    extracted_.scripts.push_back(
        {*role, Script(std::string(text_.substr(tag.end, end - tag.end)), position_)});
    skip_until(end + closing.size());
    extracted_.xml += fmt::format("<cubepl n=\"{}\"/>", extracted_.scripts.size() - 1);
    extracted_.splices.push_back({extracted_.xml.size(), at_});
  }

  void fail(std::string what) { error_ = ScriptError{ErrorClass::kDamage, at_, std::move(what)}; }

  std::string_view text_;
  std::size_t at_ = 0;
  Position position_;
  ExtractedScripts extracted_;
  std::optional<ScriptError> error_;
};

}  // namespace

std::size_t ExtractedScripts::source_offset(std::size_t offset) const {
  Splice last;
  for (const Splice& joint : splices)
    if (joint.in_xml <= offset) last = joint;
  return last.in_text + (offset - last.in_xml);
}

tl::expected<ExtractedScripts, ScriptError> extract_scripts(std::string_view text) {
  return ScriptExtractor(text).run();
}

}  // namespace forebay::cubepl
