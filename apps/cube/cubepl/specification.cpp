// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/specification.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "cube/cubepl/script_extractor.hpp"

namespace forebay::cubepl {
namespace {

struct KindName {
  std::string_view name;
  MetricKind kind;
};

constexpr std::array<KindName, 6> kKinds = {
    {{"EXCLUSIVE", MetricKind::kExclusive},
     {"INCLUSIVE", MetricKind::kInclusive},
     {"PREDERIVED_EXCLUSIVE", MetricKind::kPrederivedExclusive},
     {"PREDERIVED_INCLUSIVE", MetricKind::kPrederivedInclusive},
     {"POSTDERIVED", MetricKind::kPostderived},
     {"DERIVED", MetricKind::kPostderived}}};

struct TextElement {
  std::string_view name;
  std::string MetricSpecification::* field;
};

constexpr std::array<TextElement, 7> kTexts = {{{"disp_name", &MetricSpecification::display_name},
                                                {"uniq_name", &MetricSpecification::unique_name},
                                                {"dtype", &MetricSpecification::dtype},
                                                {"uom", &MetricSpecification::uom},
                                                {"val", &MetricSpecification::value},
                                                {"url", &MetricSpecification::url},
                                                {"descr", &MetricSpecification::description}}};

Script MetricSpecification::* field_of(ScriptRole role) {
  switch (role) {
    case ScriptRole::kExpression:
    case ScriptRole::kValueExpression:
      return &MetricSpecification::expression;
    case ScriptRole::kInit:
      return &MetricSpecification::init;
    case ScriptRole::kPlus:
      return &MetricSpecification::plus;
    case ScriptRole::kMinus:
      return &MetricSpecification::minus;
    case ScriptRole::kAggregation:
      break;
  }
  return &MetricSpecification::aggregation;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool equals_ignore_case(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](char a, char b) { return (a | 0x20) == b; });
}

class SpecificationReader {
 public:
  SpecificationReader(std::string_view text, const std::string& path) : text_(text) {
    result_.path = path;
  }

  Result<Specification> run() {
    if (text_.size() > kSpecificationBytesMax)
      return failure(
          error(ErrorClass::kLimit, fmt::format("{} bytes exceed the {} of a specification",
                                                text_.size(), kSpecificationBytesMax)));
    auto extracted = extract_scripts(text_);
    if (!extracted)
      return failure(error(ErrorClass::kDamage,
                           at(text_, extracted.error().offset, extracted.error().message)));
    extracted_ = std::move(*extracted);
    document();
    if (error_) return failure(std::move(*error_));
    return std::move(result_);
  }

 private:
  Error error(ErrorClass kind, std::string cause) const {
    return Error({.kind = kind,
                  .operation = "read remapping specification",
                  .path = result_.path,
                  .cause = std::move(cause)});
  }
  static std::string at(std::string_view text, std::size_t offset, std::string_view what) {
    const Position position = advance({}, text.substr(0, offset));
    return fmt::format("line {}, column {}: {}", position.line, position.column, what);
  }
  void fail(ErrorClass kind, std::string cause) {
    if (!error_) error_ = error(kind, std::move(cause));
  }
  void fail_at(const pugi::xml_node& node, std::string_view what) {
    fail(ErrorClass::kDamage, at(text_, source_offset(node.offset_debug()), what));
  }

  std::size_t source_offset(std::ptrdiff_t offset) const {
    return extracted_.source_offset(static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
  }

  void document() {
    pugi::xml_document parsed;
    const auto result = parsed.load_buffer(extracted_.xml.data(), extracted_.xml.size());
    if (!result) {
      fail(ErrorClass::kDamage, at(text_, source_offset(result.offset), result.description()));
      return;
    }
    bool has_metrics = false;
    for (const pugi::xml_node& node : parsed.children()) {
      if (node.type() != pugi::node_element) continue;
      if (is_named(node, "doc")) {
        mirrors(node);
      } else if (is_named(node, "metrics") && !has_metrics) {
        has_metrics = true;
        metric_trees(node);
      } else {
        fail_at(node,
                fmt::format("<{}> is not expected here; expected are one <doc> and one <metrics>",
                            node.name()));
      }
    }
    if (!has_metrics) fail(ErrorClass::kDamage, "<metrics> is missing");
  }

  static bool is_named(const pugi::xml_node& node, const char* name) {
    return std::strcmp(node.name(), name) == 0;
  }

  void mirrors(const pugi::xml_node& doc) {
    for (const pugi::xml_node& node : doc.child("mirrors").children("murl"))
      result_.mirrors.emplace_back(trim(node.text().get()));
  }

  void metric_trees(const pugi::xml_node& metrics) {
    result_.title = metrics.attribute("title").value();
    for (const pugi::xml_node& node : metrics.children()) {
      if (is_named(node, "metric")) {
        metric(node, std::nullopt, 1);
      } else {
        fail_at(node, fmt::format("<{}> is not allowed between metrics", node.name()));
      }
    }
  }

  void metric(const pugi::xml_node& node, std::optional<std::size_t> parent, std::size_t depth) {
    if (error_) return;
    if (depth > kMetricDepthMax) {
      fail(ErrorClass::kLimit, fmt::format("more than {} nested metrics", kMetricDepthMax));
      return;
    }
    const std::size_t index = result_.metrics.size();
    result_.metrics.push_back({.parent = parent});
    attributes(node, index);
    std::vector<pugi::xml_node> children;
    for (const pugi::xml_node& child : node.children()) {
      if (is_named(child, "metric")) {
        children.push_back(child);
      } else if (child.type() == pugi::node_element) {
        element(child, result_.metrics[index]);
      }
    }
    check(node, index);
    for (const pugi::xml_node& child : children)
      metric(child, index, depth + 1);
  }

  void attributes(const pugi::xml_node& node, std::size_t index) {
    MetricSpecification& made = result_.metrics[index];
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      const std::string_view name = attribute.name();
      const std::string_view value = attribute.value();
      if (!set_attribute(made, name, value))
        fail_at(node, fmt::format("{}=\"{}\" is not an attribute of a metric, or not a valid value",
                                  name, value));
    }
  }

  /// Sets an attribute; false if name or value is unknown.
  static bool set_attribute(MetricSpecification& made,
                            std::string_view name,
                            std::string_view value) {
    if (name == "type") {
      const auto* const found = std::ranges::find(kKinds, value, &KindName::name);
      if (found == kKinds.end()) return false;
      made.kind = found->kind;
      return true;
    }
    if (name == "viztype") {
      if (equals_ignore_case(value, "ghost")) made.visibility = Visibility::kGhost;
      return equals_ignore_case(value, "ghost") || equals_ignore_case(value, "normal");
    }
    if (name == "convertible" && equals_ignore_case(value, "false"))
      made.conversion = Conversion::kForbidden;
    return (name == "convertible" || name == "cacheable") &&
           (equals_ignore_case(value, "true") || equals_ignore_case(value, "false"));
  }

  void element(const pugi::xml_node& node, MetricSpecification& made) {
    if (is_named(node, "cubepl")) {
      script(node, made);
      return;
    }
    const auto* const found =
        std::ranges::find(kTexts, std::string_view(node.name()), &TextElement::name);
    if (found == kTexts.end()) {
      fail_at(node, fmt::format("<{}> is not an element of a metric", node.name()));
      return;
    }
    std::string& field = made.*(found->field);
    if (!field.empty()) fail_at(node, fmt::format("<{}> occurs twice", node.name()));
    field = trim(node.text().get());
  }

  void script(const pugi::xml_node& node, MetricSpecification& made) {
    const auto index = node.attribute("n").as_ullong(extracted_.scripts.size());
    if (index >= extracted_.scripts.size()) {
      fail_at(node, "<cubepl> has no text");
      return;
    }
    const ExtractedScript& extracted = extracted_.scripts[index];
    Script& field = made.*field_of(extracted.role);
    if (!field.text().empty()) fail_at(node, "the same script occurs twice");
    field = extracted.script;
    if (extracted.role == ScriptRole::kValueExpression) made.evaluation = Evaluation::kByValue;
  }

  void check(const pugi::xml_node& node, std::size_t index) {
    const MetricSpecification& made = result_.metrics[index];
    if (made.unique_name.empty()) fail_at(node, "a metric has no <uniq_name>");
    if (!names_.insert(made.unique_name).second)
      fail_at(node, fmt::format("metric {} occurs twice", made.unique_name));
  }

  std::string_view text_;
  ExtractedScripts extracted_;
  Specification result_;
  std::unordered_set<std::string> names_;
  std::optional<Error> error_;
};

}  // namespace

std::string_view name_of(MetricKind kind) noexcept {
  for (const KindName& one : kKinds)
    if (one.kind == kind) return one.name;
  return {};
}

bool is_derived(MetricKind kind) noexcept {
  return kind != MetricKind::kExclusive && kind != MetricKind::kInclusive;
}

std::optional<std::size_t> Specification::find(std::string_view unique_name) const {
  const auto found = std::ranges::find(metrics, unique_name, &MetricSpecification::unique_name);
  if (found == metrics.end()) return std::nullopt;
  return static_cast<std::size_t>(found - metrics.begin());
}

Result<Specification> parse_specification(std::string_view text, const std::string& path) {
  return SpecificationReader(text, path).run();
}

}  // namespace forebay::cubepl
