// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/fact_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace forebay::cubepl {
namespace {

using Index = std::size_t;

double number(auto count) { return static_cast<double>(count); }
double number_or_none(const std::optional<Index>& index) { return index ? number(*index) : -1; }
std::string_view text(const std::string& value) { return value; }
bool is_void(const auto& place) { return place.name.find("VOID") != std::string::npos; }
Index count_void(const auto& places) {
  return static_cast<Index>(
      std::ranges::count_if(places, [](const auto& p) { return is_void(p); }));
}
Index count_roots(const auto& nodes) {
  return static_cast<Index>(
      std::ranges::count_if(nodes, [](const auto& node) { return !node.parent.has_value(); }));
}

Index one(const Knowledge& /*knowledge*/) { return 1; }
Index metric_count(const Knowledge& k) { return k.metrics.size(); }
Index region_count(const Knowledge& k) { return k.facts->regions.size(); }
Index callpath_count(const Knowledge& k) { return k.facts->callpaths.size(); }
Index node_count(const Knowledge& k) { return k.facts->system_nodes.size(); }
Index group_count(const Knowledge& k) { return k.facts->location_groups.size(); }
Index location_count(const Knowledge& k) { return k.facts->locations.size(); }

using K = const Knowledge&;

constexpr std::array kFacts = {
    Fact{"cube::#mirrors", one,
         [](K k, Index) -> FactValue { return number(k.facts->mirror_count); }},
    Fact{"cube::#metrics", one, [](K k, Index) -> FactValue { return number(metric_count(k)); }},
    Fact{"cube::#root::metrics", one,
         [](K k, Index) -> FactValue { return number(count_roots(k.metrics)); }},
    Fact{"cube::#regions", one, [](K k, Index) -> FactValue { return number(region_count(k)); }},
    Fact{"cube::#callpaths", one,
         [](K k, Index) -> FactValue { return number(callpath_count(k)); }},
    Fact{"cube::#root::callpaths", one,
         [](K k, Index) -> FactValue { return number(count_roots(k.facts->callpaths)); }},
    Fact{"cube::#locations", one,
         [](K k, Index) -> FactValue { return number(location_count(k)); }},
    Fact{"cube::#locations::void", one,
         [](K k, Index) -> FactValue { return number(k.void_location_count); }},
    Fact{"cube::#locations::nonvoid", one,
         [](K k, Index) -> FactValue { return number(location_count(k) - k.void_location_count); }},
    Fact{"cube::#locationgroups", one,
         [](K k, Index) -> FactValue { return number(group_count(k)); }},
    Fact{"cube::#locationgroups::void", one,
         [](K k, Index) -> FactValue { return number(k.void_group_count); }},
    Fact{"cube::#locationgroups::nonvoid", one,
         [](K k, Index) -> FactValue { return number(group_count(k) - k.void_group_count); }},
    Fact{"cube::#stns", one, [](K k, Index) -> FactValue { return number(node_count(k)); }},
    Fact{"cube::#rootstns", one,
         [](K k, Index) -> FactValue { return number(count_roots(k.facts->system_nodes)); }},
    Fact{"cube::filename", one, [](K k, Index) -> FactValue { return text(k.facts->filename); }},

    Fact{"cube::metric::uniq::name", metric_count,
         [](K k, Index i) -> FactValue { return text(k.metrics[i].unique_name); }},
    Fact{"cube::metric::disp::name", metric_count,
         [](K k, Index i) -> FactValue { return text(k.metrics[i].display_name); }},
    Fact{"cube::metric::url", metric_count,
         [](K k, Index i) -> FactValue { return text(k.metrics[i].url); }},
    Fact{"cube::metric::description", metric_count,
         [](K k, Index i) -> FactValue { return text(k.metrics[i].description); }},
    Fact{"cube::metric::dtype", metric_count,
         [](K k, Index i) -> FactValue { return text(k.metrics[i].dtype); }},
    Fact{"cube::metric::uom", metric_count,
         [](K k, Index i) -> FactValue { return text(k.metrics[i].uom); }},
    Fact{"cube::metric::expression", metric_count,
         [](K k, Index i) -> FactValue { return text(k.metrics[i].expression); }},
    Fact{"cube::metric::initexpression", metric_count,
         [](K k, Index i) -> FactValue { return text(k.metrics[i].init_expression); }},
    Fact{"cube::metric::parent::id", metric_count,
         [](K k, Index i) -> FactValue { return number_or_none(k.metrics[i].parent); }},
    Fact{"cube::metric::#children", metric_count,
         [](K k, Index i) -> FactValue { return number(k.metric_children[i]); }},

    Fact{"cube::callpath::mod", callpath_count,
         [](K k, Index i) -> FactValue { return text(k.facts->callpaths[i].module); }},
    Fact{"cube::callpath::line", callpath_count,
         [](K k, Index i) -> FactValue { return number(k.facts->callpaths[i].line); }},
    Fact{"cube::callpath::#children", callpath_count,
         [](K k, Index i) -> FactValue { return number(k.callpath_children[i]); }},
    Fact{"cube::callpath::calleeid", callpath_count,
         [](K k, Index i) -> FactValue { return number(k.facts->callpaths[i].region); }},
    Fact{"cube::callpath::parent::id", callpath_count,
         [](K k, Index i) -> FactValue { return number_or_none(k.facts->callpaths[i].parent); }},

    Fact{"cube::region::name", region_count,
         [](K k, Index i) -> FactValue { return text(k.facts->regions[i].name); }},
    Fact{"cube::region::mangled::name", region_count,
         [](K k, Index i) -> FactValue { return text(k.facts->regions[i].mangled_name); }},
    Fact{"cube::region::paradigm", region_count,
         [](K k, Index i) -> FactValue { return text(k.facts->regions[i].paradigm); }},
    Fact{"cube::region::role", region_count,
         [](K k, Index i) -> FactValue { return text(k.facts->regions[i].role); }},
    Fact{"cube::region::url", region_count,
         [](K k, Index i) -> FactValue { return text(k.facts->regions[i].url); }},
    Fact{"cube::region::description", region_count,
         [](K k, Index i) -> FactValue { return text(k.facts->regions[i].description); }},
    Fact{"cube::region::mod", region_count,
         [](K k, Index i) -> FactValue { return text(k.facts->regions[i].module); }},
    Fact{"cube::region::begin::line", region_count,
         [](K k, Index i) -> FactValue { return number(k.facts->regions[i].begin_line); }},
    Fact{"cube::region::end::line", region_count,
         [](K k, Index i) -> FactValue { return number(k.facts->regions[i].end_line); }},

    Fact{"cube::stn::name", node_count,
         [](K k, Index i) -> FactValue { return text(k.facts->system_nodes[i].name); }},
    Fact{"cube::stn::class", node_count,
         [](K k, Index i) -> FactValue { return text(k.facts->system_nodes[i].node_class); }},
    Fact{"cube::stn::#children", node_count,
         [](K k, Index i) -> FactValue { return number(k.system_node_children[i]); }},
    Fact{"cube::stn::#locationgroups", node_count,
         [](K k, Index i) -> FactValue { return number(k.system_node_groups[i]); }},
    Fact{"cube::stn::parent::id", node_count,
         [](K k, Index i) -> FactValue { return number_or_none(k.facts->system_nodes[i].parent); }},

    Fact{"cube::locationgroup::name", group_count,
         [](K k, Index i) -> FactValue { return text(k.facts->location_groups[i].name); }},
    Fact{"cube::locationgroup::rank", group_count,
         [](K k, Index i) -> FactValue { return number(k.facts->location_groups[i].rank); }},
    Fact{"cube::locationgroup::type", group_count,
         [](K k, Index i) -> FactValue { return text(k.facts->location_groups[i].type); }},
    Fact{"cube::locationgroup::void", group_count,
         [](K k, Index i) -> FactValue { return number(is_void(k.facts->location_groups[i])); }},
    Fact{"cube::locationgroup::#locations", group_count,
         [](K k, Index i) -> FactValue { return number(k.group_locations[i]); }},
    Fact{"cube::locationgroup::parent::id", group_count,
         [](K k, Index i) -> FactValue { return number(k.facts->location_groups[i].parent); }},

    Fact{"cube::location::name", location_count,
         [](K k, Index i) -> FactValue { return text(k.facts->locations[i].name); }},
    Fact{"cube::location::rank", location_count,
         [](K k, Index i) -> FactValue { return number(k.facts->locations[i].rank); }},
    Fact{"cube::location::type", location_count,
         [](K k, Index i) -> FactValue { return text(k.facts->locations[i].type); }},
    Fact{"cube::location::void", location_count,
         [](K k, Index i) -> FactValue { return number(is_void(k.facts->locations[i])); }},
    Fact{"cube::location::parent::id", location_count,
         [](K k, Index i) -> FactValue { return number(k.facts->locations[i].parent); }},
};

/// Counts a child at `parent`; the first index that points nowhere is remembered.
struct Counter {
  std::string wrong;

  void count(std::vector<std::uint32_t>& children,
             std::optional<Index> parent,
             std::string_view what) {
    if (!parent) return;
    if (*parent < children.size()) {
      ++children[*parent];
    } else if (wrong.empty()) {
      wrong = fmt::format("a {} {} that does not exist", what, *parent);
    }
  }
};

void check_callpaths(const Facts& facts, Counter& counter) {
  for (Index i = 0; i < facts.callpaths.size(); ++i) {
    const CallpathFacts& callpath = facts.callpaths[i];
    if (callpath.region >= facts.regions.size() && counter.wrong.empty())
      counter.wrong =
          fmt::format("a call path, {}, of region {}, which does not exist", i, callpath.region);
  }
}

}  // namespace

Result<Knowledge> know(const Facts& facts, std::vector<MetricFacts> metrics) {
  Knowledge known{.facts = &facts, .metrics = std::move(metrics)};
  known.metric_children.resize(known.metrics.size());
  known.callpath_children.resize(facts.callpaths.size());
  known.system_node_children.resize(facts.system_nodes.size());
  known.system_node_groups.resize(facts.system_nodes.size());
  known.group_locations.resize(facts.location_groups.size());
  known.void_group_count = count_void(facts.location_groups);
  known.void_location_count = count_void(facts.locations);
  Counter counter;
  check_callpaths(facts, counter);
  for (const auto& metric : known.metrics)
    counter.count(known.metric_children, metric.parent, "metric's parent");
  for (const auto& callpath : facts.callpaths)
    counter.count(known.callpath_children, callpath.parent, "call path's parent");
  for (const auto& node : facts.system_nodes)
    counter.count(known.system_node_children, node.parent, "system node's parent");
  for (const auto& group : facts.location_groups)
    counter.count(known.system_node_groups, group.parent, "location group's system node");
  for (const auto& location : facts.locations)
    counter.count(known.group_locations, location.parent, "location's group");
  if (counter.wrong.empty()) return known;
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "run remapping specification",
                  .path = facts.filename,
                  .cause = "the profile has " + counter.wrong});
}

std::optional<std::uint32_t> find_fact(std::string_view name) {
  const auto* const found = std::ranges::find(kFacts, name, &Fact::name);
  if (found == kFacts.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - kFacts.begin());
}

const Fact& fact(std::uint32_t number) { return kFacts[number]; }

}  // namespace forebay::cubepl
