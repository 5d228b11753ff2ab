// SPDX-License-Identifier: Apache-2.0
// The variables cube::... by name, with their sizes and values.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "cube/cubepl/profile_view.hpp"

namespace forebay::cubepl {

/// The properties of a profile that scripts can read; the metrics of the specification precede the
/// others.
struct ProfileTables {
  const ProfileInfo* info = nullptr;
  std::vector<MetricInfo> metrics;
  /// Numbers of children of each metric, call path and system node, of groups of each system node,
  /// and of locations of each group.
  std::vector<std::uint32_t> metric_children;
  std::vector<std::uint32_t> callpath_children;
  std::vector<std::uint32_t> system_node_children;
  std::vector<std::uint32_t> system_node_groups;
  std::vector<std::uint32_t> group_locations;
  /// Groups and locations with VOID in their name.
  std::size_t void_group_count = 0;
  std::size_t void_location_count = 0;
};

/// Counts children and void items. `info` must outlive the result. Fails if an index in `info` is
/// out of range.
Result<ProfileTables> build_profile_tables(const ProfileInfo& info,
                                           std::vector<MetricInfo> metrics);

using ProfileVariableValue = std::variant<double, std::string_view>;

/// One variable cube::....
struct ProfileVariable {
  std::string_view name;
  std::size_t (*size)(const ProfileTables& tables);
  /// `index` must be less than the size.
  ProfileVariableValue (*value)(const ProfileTables& tables, std::size_t index);
};

/// Its number in the table, for profile_variable(); empty if there is no such variable.
std::optional<std::uint32_t> find_profile_variable(std::string_view name);
const ProfileVariable& profile_variable(std::uint32_t number);

}  // namespace forebay::cubepl
