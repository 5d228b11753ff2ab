// SPDX-License-Identifier: Apache-2.0
#include "cube/script_profile.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace forebay::cube {

namespace {

/// Indices in the order of their ids.
template <class Items>
std::vector<std::uint32_t> by_id(const Items& items) {
  std::vector<std::uint32_t> indices(items.size());
  std::iota(indices.begin(), indices.end(), 0U);
  std::ranges::sort(indices, {}, [&](std::uint32_t index) { return items[index].id; });
  return indices;
}

/// The inverse of a permutation.
std::vector<std::uint32_t> invert_order(const std::vector<std::uint32_t>& indices) {
  std::vector<std::uint32_t> numbers(indices.size());
  for (std::uint32_t number = 0; number < indices.size(); ++number)
    numbers[indices[number]] = number;
  return numbers;
}

std::optional<std::size_t> optional_index(std::uint32_t index) {
  return index == kNone ? std::nullopt : std::optional<std::size_t>(index);
}

void add_metrics(const Anchor& anchor, cubepl::ProfileInfo& info) {
  for (const Metric& metric : anchor.metrics)
    info.metrics.push_back({.unique_name = metric.unique_name,
                            .display_name = metric.display_name,
                            .dtype = metric.type.name(),
                            .uom = metric.unit,
                            .url = metric.url,
                            .description = metric.description,
                            .expression = metric.expressions.value,
                            .init_expression = metric.expressions.init,
                            .parent = optional_index(metric.parent)});
}

void add_program(const Anchor& anchor, cubepl::ProfileInfo& info) {
  const auto regions = by_id(anchor.regions);
  const auto region_numbers = invert_order(regions);
  for (const std::uint32_t index : regions) {
    const Region& region = anchor.regions[index];
    info.regions.push_back({.name = region.name,
                            .mangled_name = region.mangled_name,
                            .paradigm = region.paradigm,
                            .role = region.role,
                            .url = region.url,
                            .description = region.description,
                            .module = region.module,
                            .begin_line = region.begin_line,
                            .end_line = region.end_line});
  }
  const CallPathNumbering numbers = number_call_paths(anchor.call_tree);
  for (const std::uint32_t index : numbers.index_of) {
    const CallPath& path = anchor.call_tree.at(index);
    std::optional<std::size_t> parent;
    if (path.parent != kNone) parent = numbers.number_of[path.parent];
    info.callpaths.push_back({.region = region_numbers[path.region],
                              .parent = parent,
                              .module = path.module,
                              .line = path.line});
  }
}

void add_system(const Anchor& anchor, cubepl::ProfileInfo& info) {
  const auto nodes = by_id(anchor.nodes);
  const auto node_numbers = invert_order(nodes);
  for (const std::uint32_t index : nodes) {
    const SystemNode& node = anchor.nodes[index];
    std::optional<std::size_t> parent;
    if (node.parent != kNone) parent = node_numbers[node.parent];
    info.system_nodes.push_back(
        {.name = node.name, .node_class = node.class_name, .parent = parent});
  }
  const auto groups = by_id(anchor.groups);
  const auto group_numbers = invert_order(groups);
  for (const std::uint32_t index : groups) {
    const LocationGroup& group = anchor.groups[index];
    info.location_groups.push_back({.name = group.name,
                                    .rank = group.rank,
                                    .type = group.type,
                                    .parent = node_numbers[group.node]});
  }
  for (const Location& location : anchor.locations)
    info.locations.push_back({.name = location.name,
                              .rank = location.rank,
                              .type = location.type,
                              .parent = group_numbers[location.group]});
}

}  // namespace

CallPathNumbering number_call_paths(const CallTree& tree) {
  CallPathNumbering numbers;
  numbers.index_of = by_id(tree.paths());
  numbers.number_of = invert_order(numbers.index_of);
  return numbers;
}

cubepl::ProfileInfo make_profile_info(const Anchor& anchor, const std::string& path) {
  cubepl::ProfileInfo info{.filename = path, .mirror_count = anchor.mirrors.size()};
  add_metrics(anchor, info);
  add_program(anchor, info);
  add_system(anchor, info);
  return info;
}

Error CachedProfileView::too_many_rows() const {
  const std::size_t row_bytes = info_.locations.size() * sizeof(double);
  return Error({.kind = ErrorClass::kLimit,
                .operation = "evaluate",
                .path = info_.filename,
                .cause = fmt::format("one row needs more than {} rows of {} "
                                     "bytes at once; increase --memory",
                                     held_.size(), row_bytes)});
}

Result<std::span<const double>> CachedProfileView::row(const cubepl::InputRow& which) {
  const bool is_inclusive = which.flavor == cubepl::Flavor::kInclusive;
  const FlavoredRow row{which.metric, numbers_.index_of[which.callpath],
                        is_inclusive ? MetricKind::kInclusive : MetricKind::kExclusive};
  if (cache_.is_zero(row)) return std::span<const double>();
  if (held_.size() >= cache_.held_rows_max()) return failure(too_many_rows());
  auto handle = cache_.get(row, scratch_);
  if (!handle) return failure(handle.error());
  held_.push_back(std::move(*handle));
  return RowCache::values_of(*held_.back());
}

}  // namespace forebay::cube
