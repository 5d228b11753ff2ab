// SPDX-License-Identifier: Apache-2.0
// The variables cube::... by name: how many elements each has and what they are.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "cube/cubepl/profile_view.hpp"

namespace forebay::cubepl {

/// Facts about a profile as scripts see them: with the specification's metrics before the others.
struct Knowledge {
  const Facts* facts = nullptr;
  std::vector<MetricFacts> metrics;
  /// Children of each metric, call path and system node, and what hangs below the latter two.
  std::vector<std::uint32_t> metric_children;
  std::vector<std::uint32_t> callpath_children;
  std::vector<std::uint32_t> system_node_children;
  std::vector<std::uint32_t> system_node_groups;
  std::vector<std::uint32_t> group_locations;
  /// Places with VOID in their name.
  std::size_t void_group_count = 0;
  std::size_t void_location_count = 0;
};

/// Counts what can be counted. `facts` must live as long as the result. An index in `facts` that
/// points nowhere is an Error.
Result<Knowledge> know(const Facts& facts, std::vector<MetricFacts> metrics);

using FactValue = std::variant<double, std::string_view>;

/// One variable cube::....
struct Fact {
  std::string_view name;
  std::size_t (*size)(const Knowledge& knowledge);
  /// The index is less than the size.
  FactValue (*value)(const Knowledge& knowledge, std::size_t index);
};

/// Its number in the table, for fact(); none if there is no such variable.
std::optional<std::uint32_t> find_fact(std::string_view name);
const Fact& fact(std::uint32_t number);

}  // namespace forebay::cubepl
