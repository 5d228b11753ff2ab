// SPDX-License-Identifier: Apache-2.0
// Parses anchor.xml into an Anchor. pugixml parses the XML; this file interprets its elements.
#include <algorithm>
#include <charconv>
#include <span>
#include <unordered_map>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "cube/anchor.hpp"
#include "cube/anchor_text.hpp"

namespace forebay::cube {

namespace {

using pugi::xml_node;

Error xml_error(xml_node node, std::string cause, ErrorClass kind = ErrorClass::kDamage) {
  const std::ptrdiff_t offset = node ? node.offset_debug() : 0;
  return Error({.kind = kind,
                .operation = "read anchor.xml",
                .offset_bytes = offset > 0 ? static_cast<std::uint64_t>(offset) : 0,
                .cause = std::move(cause)});
}

template <class Number>
Result<Number> number_in(xml_node node, std::string_view text, std::string_view what) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && !text.empty()) return number;
  return failure(xml_error(
      node, fmt::format("{} of <{}> must be a whole number, not '{}'", what, node.name(), text)));
}

Result<std::uint32_t> id_of(xml_node node, const char* attribute) {
  const auto id = number_in<std::uint32_t>(node, node.attribute(attribute).value(), attribute);
  if (id && *id == kNone) return failure(xml_error(node, "an id is out of range"));
  return id;
}

/// Lines and ranks are informative only: text that is not a number gives -1.
std::int64_t number_or_none(std::string_view text) {
  std::int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Calls `enter(node, parent)` for each element `tag` below `root`, depth first. Its return value
/// is the `parent` of its children. No recursion, because trees may be deep.
template <class Enter>
Status for_each_nested(xml_node root, const char* tag, const Enter& enter) {
  std::vector<std::pair<xml_node, std::uint32_t>> open{{root, kNone}};
  xml_node next = root.child(tag);
  while (true) {
    if (next) {
      const Result<std::uint32_t> index = enter(next, open.back().second);
      if (!index) return failure(index.error());
      open.emplace_back(next, *index);
      next = next.child(tag);
      continue;
    }
    if (open.size() == 1) return {};
    next = open.back().first.next_sibling(tag);
    open.pop_back();
  }
}

template <class List>
std::uint32_t last_index(const List& list) {
  return static_cast<std::uint32_t>(list.size() - 1);
}

/// Builds an Anchor from a document, part by part.
class AnchorBuilder {
 public:
  /// `groups` are those of a FoldedText; empty if the text is not folded.
  AnchorBuilder(xml_node cube, std::span<const std::string_view> groups)
      : cube_(cube), folded_(groups) {}

  Result<Anchor> run() {
    anchor_.version = cube_.attribute("version").value();
    for (const xml_node attribute : cube_.children("attr")) {
      anchor_.attributes.emplace_back(attribute.attribute("key").value(),
                                      attribute.attribute("value").value());
    }
    for (const xml_node mirror : cube_.child("doc").child("mirrors").children("murl"))
      anchor_.mirrors.emplace_back(mirror.child_value());
    for (const auto part : {&AnchorBuilder::read_metrics, &AnchorBuilder::read_regions,
                            &AnchorBuilder::read_call_tree, &AnchorBuilder::read_system}) {
      if (const Status read = (this->*part)(); !read) return failure(read.error());
    }
    return std::move(anchor_);
  }

 private:
  Status read_metrics() {
    std::unordered_map<std::uint32_t, std::uint32_t> indices;
    return for_each_nested(cube_.child("metrics"), "metric",
                           [&](xml_node node, std::uint32_t parent) -> Result<std::uint32_t> {
                             auto metric = read_metric(node);
                             if (!metric) return failure(metric.error());
                             metric->parent = parent;
                             anchor_.metrics.push_back(std::move(*metric));
                             const std::uint32_t id = anchor_.metrics.back().id;
                             return add_id(node, id, last_index(anchor_.metrics), indices);
                           });
  }

  static Result<Metric> read_metric(xml_node node) {
    Metric metric;
    const auto id = id_of(node, "id");
    if (!id) return failure(id.error());
    metric.id = *id;
    metric.unique_name = node.child_value("uniq_name");
    const auto kind = parse_metric_kind(node.attribute("type").value());
    if (!kind) return failure(of_metric(node, metric, kind.error()));
    metric.kind = *kind;
    const auto type = parse_value_type(node.child_value("dtype"));
    if (!type) return failure(of_metric(node, metric, type.error()));
    metric.type = *type;
    metric.display_name = node.child_value("disp_name");
    metric.unit = node.child_value("uom");
    metric.url = node.child_value("url");
    metric.description = node.child_value("descr");
    metric.expressions = read_expressions(node);
    for (const pugi::xml_attribute attribute : node.attributes()) {
      const std::string_view name = attribute.name();
      if (name != "id" && name != "type") metric.attributes.emplace_back(name, attribute.value());
    }
    return metric;
  }

  static Error of_metric(xml_node node, const Metric& metric, const Error& error) {
    return xml_error(
        node, fmt::format("metric {} ({}): {}", metric.id, metric.unique_name, error.cause()),
        error.kind());
  }

  static Expressions read_expressions(xml_node node) {
    Expressions expressions;
    const xml_node value = node.child("cubepl");
    expressions.value = value.child_value();
    expressions.is_row_wise = std::string_view(value.attribute("rowwise").value()) != "false";
    expressions.init = node.child_value("cubeplinit");
    for (const xml_node rule : node.children("cubeplaggr")) {
      const std::string_view kind = rule.attribute("cubeplaggrtype").value();
      if (kind == "plus") expressions.plus = rule.child_value();
      if (kind == "minus") expressions.minus = rule.child_value();
      if (kind == "aggr") expressions.aggregate = rule.child_value();
    }
    return expressions;
  }

  Status read_regions() {
    for (const xml_node node : cube_.child("program").children("region")) {
      const auto id = id_of(node, "id");
      if (!id) return failure(id.error());
      anchor_.regions.push_back({.id = *id,
                                 .name = node.child_value("name"),
                                 .mangled_name = node.child_value("mangled_name"),
                                 .module = node.attribute("mod").value(),
                                 .paradigm = node.child_value("paradigm"),
                                 .role = node.child_value("role"),
                                 .url = node.child_value("url"),
                                 .description = node.child_value("descr"),
                                 .begin_line = number_or_none(node.attribute("begin").value()),
                                 .end_line = number_or_none(node.attribute("end").value())});
      const auto added = add_id(node, *id, last_index(anchor_.regions), regions_);
      if (!added) return failure(added.error());
    }
    return {};
  }

  Status read_call_tree() {
    std::unordered_map<std::uint32_t, std::uint32_t> indices;
    return for_each_nested(cube_.child("program"), "cnode",
                           [&](xml_node node, std::uint32_t parent) -> Result<std::uint32_t> {
                             auto path = read_call_path(node);
                             if (!path) return failure(path.error());
                             path->parent = parent;
                             const std::uint32_t id = path->id;
                             const std::uint32_t index = anchor_.call_tree.size();
                             anchor_.call_tree.add(std::move(*path));
                             return add_id(node, id, index, indices);
                           });
  }

  Result<CallPath> read_call_path(xml_node node) const {
    const auto id = id_of(node, "id");
    if (!id) return failure(id.error());
    const auto callee = id_of(node, "calleeId");
    if (!callee) return failure(callee.error());
    const auto region = regions_.find(*callee);
    if (region == regions_.end()) {
      return failure(xml_error(
          node, fmt::format("call path {} calls region {}, which does not exist", *id, *callee)));
    }
    CallPath path{.id = *id,
                  .region = region->second,
                  .module = node.attribute("mod").value(),
                  .line = number_or_none(node.attribute("line").value()),
                  .parameters = {}};
    for (const xml_node parameter : node.children("parameter")) {
      path.parameters.push_back({parameter.attribute("partype").value(),
                                 parameter.attribute("parkey").value(),
                                 parameter.attribute("parvalue").value()});
    }
    return path;
  }

  Status read_system() {
    const xml_node system = cube_.child("system");
    const Status read =
        for_each_nested(system, "systemtreenode",
                        [&](xml_node node, std::uint32_t parent) -> Result<std::uint32_t> {
                          const auto id = id_of(node, "Id");
                          if (!id) return failure(id.error());
                          anchor_.nodes.push_back(
                              {*id, node.child_value("name"), node.child_value("class"), parent});
                          if (const Status groups = read_groups(node); !groups) {
                            return failure(groups.error());
                          }
                          return last_index(anchor_.nodes);
                        });
    if (!read) return read;
    if (locations_.empty()) return failure(xml_error(system, "the system has no locations"));
    return order_locations(system);
  }

  Status read_groups(xml_node node) {
    for (const xml_node group : node.children("locationgroup")) {
      const Status read = folded_.empty() ? read_group(group) : read_folded_group(group);
      if (!read) return read;
    }
    return {};
  }

  Status read_folded_group(xml_node placeholder) {
    const std::size_t number = placeholder.attribute("n").as_ullong();
    pugi::xml_document document;
    const std::string_view text = number < folded_.size() ? folded_[number] : std::string_view{};
    const bool is_read = static_cast<bool>(document.load_buffer(text.data(), text.size()));
    const xml_node group = document.first_child();
    // An empty group has no closing tag, so the text has two elements.
    if (!is_read || !group || group.next_sibling()) {
      return failure(xml_error(placeholder, "expected exactly one group of locations"));
    }
    return read_group(group);
  }

  Status read_group(xml_node group) {
    const auto id = id_of(group, "Id");
    if (!id) return failure(id.error());
    anchor_.groups.push_back({.id = *id,
                              .name = group.child_value("name"),
                              .rank = number_or_none(group.child_value("rank")),
                              .type = group.child_value("type"),
                              .node = last_index(anchor_.nodes)});
    for (const xml_node location : group.children("location")) {
      if (const Status read = read_location(location); !read) return read;
    }
    return {};
  }

  Status read_location(xml_node node) {
    const auto id = id_of(node, "Id");
    if (!id) return failure(id.error());
    locations_.emplace_back(*id, Location{.name = node.child_value("name"),
                                          .rank = number_or_none(node.child_value("rank")),
                                          .type = node.child_value("type"),
                                          .group = last_index(anchor_.groups)});
    return {};
  }

  /// Ids are positions in rows, so each of 0 … L − 1 must occur exactly once.
  Status order_locations(xml_node system) {
    anchor_.locations.resize(locations_.size());
    for (auto& [id, location] : locations_) {
      if (id >= anchor_.locations.size()) {
        return failure(xml_error(system, fmt::format("a location has the id {} of {} locations", id,
                                                     anchor_.locations.size())));
      }
      if (anchor_.locations[id].group != kNone) {
        return failure(xml_error(system, fmt::format("two locations have the id {}", id)));
      }
      anchor_.locations[id] = std::move(location);
    }
    return {};
  }

  static Result<std::uint32_t> add_id(xml_node node,
                                      std::uint32_t id,
                                      std::uint32_t index,
                                      std::unordered_map<std::uint32_t, std::uint32_t>& indices) {
    if (indices.emplace(id, index).second) return index;
    return failure(xml_error(node, fmt::format("two <{}> have the id {}", node.name(), id)));
  }

  const xml_node cube_;
  const std::span<const std::string_view> folded_;
  Anchor anchor_;
  std::unordered_map<std::uint32_t, std::uint32_t> regions_;   // indices by id
  std::vector<std::pair<std::uint32_t, Location>> locations_;  // by id, in file order
};

/// Parses a document in the memory of `text`.
Result<Anchor> parse_in_place(std::string& text, std::span<const std::string_view> groups) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer_inplace(text.data(), text.size());
  if (!parsed) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read anchor.xml",
                    .offset_bytes = static_cast<std::uint64_t>(parsed.offset),
                    .cause = fmt::format("not XML: {}", parsed.description())});
  }
  const xml_node cube = document.child("cube");
  if (!cube) return failure(xml_error({}, "no element <cube>"));
  return AnchorBuilder(cube, groups).run();
}

}  // namespace

Result<Anchor> parse_anchor(std::string text) {
  text = quote_attributes(std::move(text));
  FoldedText folded = fold_groups(text);
  if (!folded.groups.empty()) {
    auto anchor = parse_in_place(folded.text, folded.groups);
    if (anchor) return anchor;
  }
  // Parse the whole text: it has the offset of the fault, or shows that folding was wrong.
  return parse_in_place(text, {});
}

}  // namespace forebay::cube
