// SPDX-License-Identifier: Apache-2.0
#include "cube/profile_facts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace forebay::cube {

namespace {

/// Places in the order of their ids.
template <class Items>
std::vector<std::uint32_t> by_id(const Items& items) {
  std::vector<std::uint32_t> places(items.size());
  std::iota(places.begin(), places.end(), 0U);
  std::ranges::sort(places, {}, [&](std::uint32_t place) { return items[place].id; });
  return places;
}

/// The opposite of an order.
std::vector<std::uint32_t> numbers_in(const std::vector<std::uint32_t>& places) {
  std::vector<std::uint32_t> numbers(places.size());
  for (std::uint32_t number = 0; number < places.size(); ++number)
    numbers[places[number]] = number;
  return numbers;
}

std::optional<std::size_t> known(std::uint32_t place) {
  return place == kNone ? std::nullopt : std::optional<std::size_t>(place);
}

void add_metrics(const Anchor& anchor, cubepl::Facts& facts) {
  for (const Metric& metric : anchor.metrics)
    facts.metrics.push_back({.unique_name = metric.unique_name,
                             .display_name = metric.display_name,
                             .dtype = metric.type.name(),
                             .uom = metric.unit,
                             .url = metric.url,
                             .description = metric.description,
                             .expression = metric.expressions.value,
                             .init_expression = metric.expressions.init,
                             .parent = known(metric.parent)});
}

void add_program(const Anchor& anchor, cubepl::Facts& facts) {
  const auto regions = by_id(anchor.regions);
  const auto region_numbers = numbers_in(regions);
  for (const std::uint32_t place : regions) {
    const Region& region = anchor.regions[place];
    facts.regions.push_back({.name = region.name,
                             .mangled_name = region.mangled_name,
                             .paradigm = region.paradigm,
                             .role = region.role,
                             .url = region.url,
                             .description = region.description,
                             .module = region.module,
                             .begin_line = region.begin_line,
                             .end_line = region.end_line});
  }
  const ScriptNumbers numbers = number_call_paths(anchor.call_tree);
  for (const std::uint32_t place : numbers.place_of) {
    const CallPath& path = anchor.call_tree.at(place);
    std::optional<std::size_t> parent;
    if (path.parent != kNone) parent = numbers.number_of[path.parent];
    facts.callpaths.push_back({.region = region_numbers[path.region],
                               .parent = parent,
                               .module = path.module,
                               .line = path.line});
  }
}

void add_system(const Anchor& anchor, cubepl::Facts& facts) {
  const auto nodes = by_id(anchor.nodes);
  const auto node_numbers = numbers_in(nodes);
  for (const std::uint32_t place : nodes) {
    const SystemNode& node = anchor.nodes[place];
    std::optional<std::size_t> parent;
    if (node.parent != kNone) parent = node_numbers[node.parent];
    facts.system_nodes.push_back(
        {.name = node.name, .node_class = node.class_name, .parent = parent});
  }
  const auto groups = by_id(anchor.groups);
  const auto group_numbers = numbers_in(groups);
  for (const std::uint32_t place : groups) {
    const LocationGroup& group = anchor.groups[place];
    facts.location_groups.push_back({.name = group.name,
                                     .rank = group.rank,
                                     .type = group.type,
                                     .parent = node_numbers[group.node]});
  }
  for (const Location& location : anchor.locations)
    facts.locations.push_back({.name = location.name,
                               .rank = location.rank,
                               .type = location.type,
                               .parent = group_numbers[location.group]});
}

}  // namespace

ScriptNumbers number_call_paths(const CallTree& tree) {
  ScriptNumbers numbers;
  numbers.place_of = by_id(tree.paths());
  numbers.number_of = numbers_in(numbers.place_of);
  return numbers;
}

cubepl::Facts facts_of(const Anchor& anchor, const std::string& path) {
  cubepl::Facts facts{.filename = path, .mirror_count = anchor.mirrors.size()};
  add_metrics(anchor, facts);
  add_program(anchor, facts);
  add_system(anchor, facts);
  return facts;
}

Error CachedView::too_many_rows() const {
  const std::size_t row_bytes = facts_.locations.size() * sizeof(double);
  return Error(
      {.kind = ErrorClass::kLimit,
       .operation = "evaluate",
       .path = facts_.filename,
       .cause = fmt::format("the values of one row are computed of more than {} rows of {} "
                            "bytes at once; it needs more --memory",
                            held_.size(), row_bytes)});
}

Result<std::span<const double>> CachedView::row(const cubepl::InputRow& which) {
  const bool is_inclusive = which.flavour == cubepl::Flavour::kInclusive;
  const FlavouredRow row{which.metric, numbers_.place_of[which.callpath],
                         is_inclusive ? MetricKind::kInclusive : MetricKind::kExclusive};
  if (cache_.is_zero(row)) return std::span<const double>();
  if (held_.size() >= cache_.held_rows_max()) return failure(too_many_rows());
  auto handle = cache_.get(row, scratch_);
  if (!handle) return failure(handle.error());
  held_.push_back(std::move(*handle));
  return RowCache::values_of(*held_.back());
}

}  // namespace forebay::cube
