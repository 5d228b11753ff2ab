// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/profile_variables.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace forebay::cubepl {
namespace {

using Index = std::size_t;

double number(auto count) { return static_cast<double>(count); }
double number_or_none(const std::optional<Index>& index) { return index ? number(*index) : -1; }
std::string_view text(const std::string& value) { return value; }
bool is_void(const auto& context) { return context.name.find("VOID") != std::string::npos; }
Index count_void(const auto& contexts) {
  return static_cast<Index>(
      std::ranges::count_if(contexts, [](const auto& context) { return is_void(context); }));
}
Index count_roots(const auto& nodes) {
  return static_cast<Index>(
      std::ranges::count_if(nodes, [](const auto& node) { return !node.parent.has_value(); }));
}

Index single_element(const ProfileTables& /*tables*/) { return 1; }
Index metric_count(const ProfileTables& k) { return k.metrics.size(); }
Index region_count(const ProfileTables& k) { return k.info->regions.size(); }
Index callpath_count(const ProfileTables& k) { return k.info->callpaths.size(); }
Index node_count(const ProfileTables& k) { return k.info->system_nodes.size(); }
Index group_count(const ProfileTables& k) { return k.info->location_groups.size(); }
Index location_count(const ProfileTables& k) { return k.info->locations.size(); }

using K = const ProfileTables&;

constexpr std::array kProfileVariables = {
    ProfileVariable{
        "cube::#mirrors", single_element,
        [](K k, Index) -> ProfileVariableValue { return number(k.info->mirror_count); }},
    ProfileVariable{"cube::#metrics", single_element,
                    [](K k, Index) -> ProfileVariableValue { return number(metric_count(k)); }},
    ProfileVariable{
        "cube::#root::metrics", single_element,
        [](K k, Index) -> ProfileVariableValue { return number(count_roots(k.metrics)); }},
    ProfileVariable{"cube::#regions", single_element,
                    [](K k, Index) -> ProfileVariableValue { return number(region_count(k)); }},
    ProfileVariable{"cube::#callpaths", single_element,
                    [](K k, Index) -> ProfileVariableValue { return number(callpath_count(k)); }},
    ProfileVariable{
        "cube::#root::callpaths", single_element,
        [](K k, Index) -> ProfileVariableValue { return number(count_roots(k.info->callpaths)); }},
    ProfileVariable{"cube::#locations", single_element,
                    [](K k, Index) -> ProfileVariableValue { return number(location_count(k)); }},
    ProfileVariable{
        "cube::#locations::void", single_element,
        [](K k, Index) -> ProfileVariableValue { return number(k.void_location_count); }},
    ProfileVariable{"cube::#locations::nonvoid", single_element,
                    [](K k, Index) -> ProfileVariableValue {
                      return number(location_count(k) - k.void_location_count);
                    }},
    ProfileVariable{"cube::#locationgroups", single_element,
                    [](K k, Index) -> ProfileVariableValue { return number(group_count(k)); }},
    ProfileVariable{"cube::#locationgroups::void", single_element,
                    [](K k, Index) -> ProfileVariableValue { return number(k.void_group_count); }},
    ProfileVariable{"cube::#locationgroups::nonvoid", single_element,
                    [](K k, Index) -> ProfileVariableValue {
                      return number(group_count(k) - k.void_group_count);
                    }},
    ProfileVariable{"cube::#stns", single_element,
                    [](K k, Index) -> ProfileVariableValue { return number(node_count(k)); }},
    ProfileVariable{"cube::#rootstns", single_element,
                    [](K k, Index) -> ProfileVariableValue {
                      return number(count_roots(k.info->system_nodes));
                    }},
    ProfileVariable{"cube::filename", single_element,
                    [](K k, Index) -> ProfileVariableValue { return text(k.info->filename); }},

    ProfileVariable{
        "cube::metric::uniq::name", metric_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.metrics[i].unique_name); }},
    ProfileVariable{
        "cube::metric::disp::name", metric_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.metrics[i].display_name); }},
    ProfileVariable{"cube::metric::url", metric_count,
                    [](K k, Index i) -> ProfileVariableValue { return text(k.metrics[i].url); }},
    ProfileVariable{
        "cube::metric::description", metric_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.metrics[i].description); }},
    ProfileVariable{"cube::metric::dtype", metric_count,
                    [](K k, Index i) -> ProfileVariableValue { return text(k.metrics[i].dtype); }},
    ProfileVariable{"cube::metric::uom", metric_count,
                    [](K k, Index i) -> ProfileVariableValue { return text(k.metrics[i].uom); }},
    ProfileVariable{
        "cube::metric::expression", metric_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.metrics[i].expression); }},
    ProfileVariable{
        "cube::metric::initexpression", metric_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.metrics[i].init_expression); }},
    ProfileVariable{
        "cube::metric::parent::id", metric_count,
        [](K k, Index i) -> ProfileVariableValue { return number_or_none(k.metrics[i].parent); }},
    ProfileVariable{
        "cube::metric::#children", metric_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.metric_children[i]); }},

    ProfileVariable{
        "cube::callpath::mod", callpath_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->callpaths[i].module); }},
    ProfileVariable{
        "cube::callpath::line", callpath_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.info->callpaths[i].line); }},
    ProfileVariable{
        "cube::callpath::#children", callpath_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.callpath_children[i]); }},
    ProfileVariable{
        "cube::callpath::calleeid", callpath_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.info->callpaths[i].region); }},
    ProfileVariable{"cube::callpath::parent::id", callpath_count,
                    [](K k, Index i) -> ProfileVariableValue {
                      return number_or_none(k.info->callpaths[i].parent);
                    }},

    ProfileVariable{
        "cube::region::name", region_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->regions[i].name); }},
    ProfileVariable{
        "cube::region::mangled::name", region_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->regions[i].mangled_name); }},
    ProfileVariable{
        "cube::region::paradigm", region_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->regions[i].paradigm); }},
    ProfileVariable{
        "cube::region::role", region_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->regions[i].role); }},
    ProfileVariable{
        "cube::region::url", region_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->regions[i].url); }},
    ProfileVariable{
        "cube::region::description", region_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->regions[i].description); }},
    ProfileVariable{
        "cube::region::mod", region_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->regions[i].module); }},
    ProfileVariable{
        "cube::region::begin::line", region_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.info->regions[i].begin_line); }},
    ProfileVariable{
        "cube::region::end::line", region_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.info->regions[i].end_line); }},

    ProfileVariable{
        "cube::stn::name", node_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->system_nodes[i].name); }},
    ProfileVariable{
        "cube::stn::class", node_count,
        [](K k,
           Index i) -> ProfileVariableValue { return text(k.info->system_nodes[i].node_class); }},
    ProfileVariable{
        "cube::stn::#children", node_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.system_node_children[i]); }},
    ProfileVariable{
        "cube::stn::#locationgroups", node_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.system_node_groups[i]); }},
    ProfileVariable{
        "cube::stn::parent::id", node_count,
        [](K k, Index i)
            -> ProfileVariableValue { return number_or_none(k.info->system_nodes[i].parent); }},

    ProfileVariable{
        "cube::locationgroup::name", group_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->location_groups[i].name); }},
    ProfileVariable{"cube::locationgroup::rank", group_count,
                    [](K k, Index i) -> ProfileVariableValue {
                      return number(k.info->location_groups[i].rank);
                    }},
    ProfileVariable{
        "cube::locationgroup::type", group_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->location_groups[i].type); }},
    ProfileVariable{"cube::locationgroup::void", group_count,
                    [](K k, Index i) -> ProfileVariableValue {
                      return number(is_void(k.info->location_groups[i]));
                    }},
    ProfileVariable{
        "cube::locationgroup::#locations", group_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.group_locations[i]); }},
    ProfileVariable{"cube::locationgroup::parent::id", group_count,
                    [](K k, Index i) -> ProfileVariableValue {
                      return number(k.info->location_groups[i].parent);
                    }},

    ProfileVariable{
        "cube::location::name", location_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->locations[i].name); }},
    ProfileVariable{
        "cube::location::rank", location_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.info->locations[i].rank); }},
    ProfileVariable{
        "cube::location::type", location_count,
        [](K k, Index i) -> ProfileVariableValue { return text(k.info->locations[i].type); }},
    ProfileVariable{
        "cube::location::void", location_count,
        [](K k, Index i) -> ProfileVariableValue { return number(is_void(k.info->locations[i])); }},
    ProfileVariable{
        "cube::location::parent::id", location_count,
        [](K k, Index i) -> ProfileVariableValue { return number(k.info->locations[i].parent); }},
};

/// Counts a child at `parent`; keeps an error for the first index that is out of range.
struct ChildCounter {
  std::string error;

  void count(std::vector<std::uint32_t>& children,
             std::optional<Index> parent,
             std::string_view what) {
    if (!parent) return;
    if (*parent < children.size()) {
      ++children[*parent];
    } else if (error.empty()) {
      error = fmt::format("a {} {} that does not exist", what, *parent);
    }
  }
};

void check_callpaths(const ProfileInfo& info, ChildCounter& counter) {
  for (Index i = 0; i < info.callpaths.size(); ++i) {
    const CallpathInfo& callpath = info.callpaths[i];
    if (callpath.region >= info.regions.size() && counter.error.empty())
      counter.error =
          fmt::format("a call path, {}, of region {}, which does not exist", i, callpath.region);
  }
}

}  // namespace

Result<ProfileTables> build_profile_tables(const ProfileInfo& info,
                                           std::vector<MetricInfo> metrics) {
  ProfileTables tables{.info = &info, .metrics = std::move(metrics)};
  tables.metric_children.resize(tables.metrics.size());
  tables.callpath_children.resize(info.callpaths.size());
  tables.system_node_children.resize(info.system_nodes.size());
  tables.system_node_groups.resize(info.system_nodes.size());
  tables.group_locations.resize(info.location_groups.size());
  tables.void_group_count = count_void(info.location_groups);
  tables.void_location_count = count_void(info.locations);
  ChildCounter counter;
  check_callpaths(info, counter);
  for (const auto& metric : tables.metrics)
    counter.count(tables.metric_children, metric.parent, "metric's parent");
  for (const auto& callpath : info.callpaths)
    counter.count(tables.callpath_children, callpath.parent, "call path's parent");
  for (const auto& node : info.system_nodes)
    counter.count(tables.system_node_children, node.parent, "system node's parent");
  for (const auto& group : info.location_groups)
    counter.count(tables.system_node_groups, group.parent, "location group's system node");
  for (const auto& location : info.locations)
    counter.count(tables.group_locations, location.parent, "location's group");
  if (counter.error.empty()) return tables;
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "run remapping specification",
                  .path = info.filename,
                  .cause = "the profile has " + counter.error});
}

std::optional<std::uint32_t> find_profile_variable(std::string_view name) {
  const auto* const found = std::ranges::find(kProfileVariables, name, &ProfileVariable::name);
  if (found == kProfileVariables.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - kProfileVariables.begin());
}

const ProfileVariable& profile_variable(std::uint32_t number) { return kProfileVariables[number]; }

}  // namespace forebay::cubepl
