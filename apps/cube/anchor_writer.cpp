// SPDX-License-Identifier: Apache-2.0
// Writes anchor.xml from a value, and replaces the metrics in an existing text. It formats text
// instead of building a pugixml document: with 250,000 locations the text is long.
#include <iterator>

#include <fmt/format.h>

#include "cube/anchor.hpp"
#include "cube/anchor_text.hpp"

namespace forebay::cube {

namespace {

/// Collects elements. All names, texts and attributes are escaped here.
class XmlText {
 public:
  void line(std::string_view text) { text_.append(text) += '\n'; }
  void element(std::string_view name, std::string_view content) {
    fmt::format_to(std::back_inserter(text_), "<{0}>{1}</{0}>\n", name, escape_xml(content));
  }
  void element(std::string_view name, std::int64_t number) {
    fmt::format_to(std::back_inserter(text_), "<{0}>{1}</{0}>\n", name, number);
  }
  /// `format` is a constant of this program; its arguments are numbers or escaped texts.
  template <class... Arguments>
  void tag(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_expressions(XmlText& xml, const Expressions& expressions) {
  if (!expressions.value.empty()) {
    xml.tag("<cubepl rowwise=\"{}\">{}</cubepl>", expressions.is_row_wise,
            escape_xml(expressions.value));
  }
  if (!expressions.init.empty()) xml.element("cubeplinit", expressions.init);
  const auto rule = [&](std::string_view kind, const std::string& text) {
    if (text.empty()) return;
    xml.tag("<cubeplaggr cubeplaggrtype=\"{}\">{}</cubeplaggr>", kind, escape_xml(text));
  };
  rule("plus", expressions.plus);
  rule("minus", expressions.minus);
  rule("aggr", expressions.aggregate);
}

void open_metric(XmlText& xml, const Metric& metric) {
  std::string attributes;
  for (const auto& [name, value] : metric.attributes)
    attributes += fmt::format(" {}=\"{}\"", name, escape_xml_attribute(value));
  xml.tag("<metric id=\"{}\" type=\"{}\"{}>", metric.id, name_of(metric.kind), attributes);
  xml.element("disp_name", metric.display_name);
  xml.element("uniq_name", metric.unique_name);
  xml.element("dtype", metric.type.name());
  xml.element("uom", metric.unit);
  xml.element("url", metric.url);
  xml.element("descr", metric.description);
  write_expressions(xml, metric.expressions);
}

/// Writes the elements of a tree whose items are depth first: `open(item)`, its children, `end`.
template <class Items, class Open>
void write_tree(XmlText& xml, const Items& items, std::string_view end, const Open& open) {
  std::vector<std::uint32_t> path;
  for (std::uint32_t index = 0; index < items.size(); ++index) {
    while (!path.empty() && path.back() != items[index].parent) {
      path.pop_back();
      xml.line(end);
    }
    open(items[index], index);
    path.push_back(index);
  }
  for (std::size_t i = 0; i < path.size(); ++i)
    xml.line(end);
}

void write_metrics(XmlText& xml, const std::vector<Metric>& metrics) {
  xml.line("<metrics>");
  write_tree(xml, metrics, "</metric>",
             [&](const Metric& metric, std::uint32_t) { open_metric(xml, metric); });
  xml.line("</metrics>");
}

void write_program(XmlText& xml, const Anchor& anchor) {
  xml.line("<program>");
  for (const Region& region : anchor.regions) {
    xml.tag("<region id=\"{}\" mod=\"{}\" begin=\"{}\" end=\"{}\">", region.id,
            escape_xml_attribute(region.module), region.begin_line, region.end_line);
    xml.element("name", region.name);
    xml.element("mangled_name", region.mangled_name);
    xml.element("paradigm", region.paradigm);
    xml.element("role", region.role);
    xml.element("url", region.url);
    xml.element("descr", region.description);
    xml.line("</region>");
  }
  write_tree(xml, anchor.call_tree.paths(), "</cnode>", [&](const CallPath& path, std::uint32_t) {
    std::string location;
    if (path.line >= 0) location += fmt::format(" line=\"{}\"", path.line);
    if (!path.module.empty())
      location += fmt::format(" mod=\"{}\"", escape_xml_attribute(path.module));
    xml.tag("<cnode id=\"{}\"{} calleeId=\"{}\">", path.id, location,
            anchor.regions[path.region].id);
    for (const Parameter& parameter : path.parameters) {
      xml.tag("<parameter partype=\"{}\" parkey=\"{}\" parvalue=\"{}\"/>",
              escape_xml_attribute(parameter.type), escape_xml_attribute(parameter.key),
              escape_xml_attribute(parameter.value));
    }
  });
  xml.line("</program>");
}

/// For each owner, the indices of its items, in order.
template <class Items, class Owner>
std::vector<std::vector<std::uint32_t>> group_by_parent(const Items& items,
                                                        std::size_t owner_count,
                                                        const Owner& owner) {
  std::vector<std::vector<std::uint32_t>> lists(owner_count);
  for (std::uint32_t index = 0; index < items.size(); ++index)
    lists[owner(items[index])].push_back(index);
  return lists;
}

void write_group(XmlText& xml,
                 const Anchor& anchor,
                 const LocationGroup& group,
                 const std::vector<std::uint32_t>& locations) {
  xml.tag("<locationgroup Id=\"{}\">", group.id);
  xml.element("name", group.name);
  xml.element("rank", group.rank);
  xml.element("type", group.type);
  for (const std::uint32_t id : locations) {
    const Location& location = anchor.locations[id];
    xml.tag("<location Id=\"{}\">", id);
    xml.element("name", location.name);
    xml.element("rank", location.rank);
    xml.element("type", location.type);
    xml.line("</location>");
  }
  xml.line("</locationgroup>");
}

void write_system(XmlText& xml, const Anchor& anchor) {
  const auto groups = group_by_parent(anchor.groups, anchor.nodes.size(),
                                      [](const LocationGroup& group) { return group.node; });
  const auto locations = group_by_parent(anchor.locations, anchor.groups.size(),
                                         [](const Location& location) { return location.group; });
  xml.line("<system>");
  write_tree(xml, anchor.nodes, "</systemtreenode>",
             [&](const SystemNode& node, std::uint32_t index) {
               xml.tag("<systemtreenode Id=\"{}\">", node.id);
               xml.element("name", node.name);
               xml.element("class", node.class_name);
               for (const std::uint32_t group : groups[index])
                 write_group(xml, anchor, anchor.groups[group], locations[group]);
             });
  xml.line("<topologies>\n</topologies>\n</system>");
}

}  // namespace

std::string write_anchor(const Anchor& anchor) {
  XmlText xml;
  xml.line("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
  xml.tag("<cube version=\"{}\">", escape_xml_attribute(anchor.version));
  for (const auto& [key, value] : anchor.attributes)
    xml.tag("<attr key=\"{}\" value=\"{}\"/>", escape_xml_attribute(key),
            escape_xml_attribute(value));
  xml.line("<doc>\n<mirrors>");
  for (const std::string& mirror : anchor.mirrors)
    xml.element("murl", mirror);
  xml.line("</mirrors>\n</doc>");
  write_metrics(xml, anchor.metrics);
  write_program(xml, anchor);
  write_system(xml, anchor);
  xml.line("</cube>");
  return xml.take();
}

// The element ends at the last closing tag of its name before the program element. Descriptions
// cannot contain one, because brackets in them are escaped.
Result<std::string> replace_metrics(std::string_view text, const std::vector<Metric>& metrics) {
  constexpr std::string_view kClosing = "</metrics>";
  const std::size_t begin = text.find("<metrics");
  const std::size_t program = text.find("<program", begin == std::string_view::npos ? 0 : begin);
  const std::size_t end = text.rfind(kClosing, program);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "replace metrics",
                    .cause = "anchor.xml has no element <metrics> before <program>"});
  }
  XmlText xml;
  write_metrics(xml, metrics);
  std::string inner = xml.take();
  inner.pop_back();  // the following text has its own end of line
  return std::string(text.substr(0, begin)) + inner +
         std::string(text.substr(end + kClosing.size()));
}

}  // namespace forebay::cube
