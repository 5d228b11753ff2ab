// SPDX-License-Identifier: Apache-2.0
#include "flow/mesh_io.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace forebay::flow {

namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kInfoNumbers = 5;

/// The numbers inside an array of arrays.
template <class Number, class Items>
std::span<const Number> flatten(const Items& items) {
  const std::size_t width = sizeof(items[0]) / sizeof(Number);
  return {reinterpret_cast<const Number*>(items.data()), items.size() * width};
}

template <class Item, class Number>
std::vector<Item> unflatten(const std::vector<Number>& numbers) {
  std::vector<Item> items(numbers.size() * sizeof(Number) / sizeof(Item));
  std::ranges::copy(std::as_bytes(std::span(numbers)).first(items.size() * sizeof(Item)),
                    std::as_writable_bytes(std::span(items)).begin());
  return items;
}

tl::unexpected<Error> damage(std::uint32_t part, const char* array, const char* what) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read mesh",
                  .cause = fmt::format("array {} of part {}: {}", array, part, what)});
}

/// Reads arrays of one part, and keeps the first failure.
class PartReader {
 public:
  PartReader(PartStepReader& step, std::uint32_t part) : step_(step), part_(part) {}

  template <class Value>
  std::vector<Value> get(const char* name, std::uint32_t width = 1) {
    if (!status_) return {};
    Result<std::vector<Value>> values = step_.get_values<Value>({name, part_}, width);
    if (values) return std::move(*values);
    status_ = failure(values.error());
    return {};
  }
  const Status& status() const { return status_; }

 private:
  PartStepReader& step_;
  std::uint32_t part_;
  Status status_;
};

/// Fills in neighbors, from pairs of part and count, and the concatenated lists of shared nodes.
Status unpack_neighbors(MeshPart& part,
                        std::span<const std::uint32_t> pairs,
                        std::span<const std::uint32_t> shared) {
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::uint32_t count = pairs[i + 1];
    if (count == 0 || count > shared.size()) {
      return damage(part.number, "neighbours", "counts do not match the shared nodes");
    }
    part.neighbors.push_back({pairs[i], {shared.begin(), shared.begin() + count}});
    shared = shared.subspan(count);
  }
  if (shared.empty()) return {};
  return damage(part.number, "neighbours", "counts do not match the shared nodes");
}

bool is_strictly_increasing(const auto& values) {
  return std::ranges::adjacent_find(values, std::ranges::greater_equal()) == values.end();
}

Status check_neighbors_of(const MeshPart& part, const MeshInfo& info) {
  std::vector<std::uint32_t> numbers;
  for (const Neighbor& neighbor : part.neighbors) {
    numbers.push_back(neighbor.part);
    const bool is_another = neighbor.part != part.number && neighbor.part < info.parts;
    if (!is_another) return damage(part.number, "neighbours", "a part number is invalid");
    std::vector<std::uint64_t> nodes;
    for (const std::uint32_t node : neighbor.nodes) {
      if (node >= part.node_count())
        return damage(part.number, "shared", "a node number is too large");
      nodes.push_back(part.nodes[node]);
    }
    if (!is_strictly_increasing(nodes)) return damage(part.number, "shared", "nodes do not ascend");
  }
  if (is_strictly_increasing(numbers)) return {};
  return damage(part.number, "neighbours", "parts do not ascend");
}

/// Counts the groups of nodes and checks that they are consecutive.
Status count_node_groups(MeshPart& part) {
  constexpr std::uint32_t kNoPart = UINT32_MAX;
  std::vector<std::uint32_t> lowest(part.node_count(), kNoPart);  // lowest neighbor that has each
                                                                  // node
  for (const Neighbor& neighbor : part.neighbors) {
    for (const std::uint32_t node : neighbor.nodes)
      lowest[node] = std::min(lowest[node], neighbor.part);
  }
  const auto group_of = [&](std::uint32_t neighbor) {
    if (neighbor == kNoPart) return 2;
    return neighbor > part.number ? 0 : 1;
  };
  if (!std::ranges::is_sorted(lowest, {}, group_of)) {
    return damage(part.number, "nodes", "groups of owned, shared and inner nodes are mixed");
  }
  const auto end_of = [&](int group) {
    return static_cast<std::size_t>(std::ranges::upper_bound(lowest, group, {}, group_of) -
                                    lowest.begin());
  };
  part.owned_shared_count = end_of(0);
  part.shared_count = end_of(1);
  return {};
}

Status check_sizes(const MeshPart& part, const MeshInfo& info) {
  const std::size_t count = part.node_count();
  if (count == 0 || part.coordinates.size() != count || part.markers.size() != count) {
    return damage(part.number, "nodes", "numbers of nodes, coordinates and markers differ");
  }
  const auto is_node = [&](std::uint64_t node) { return node < info.nodes; };
  if (!std::ranges::all_of(part.nodes, is_node))
    return damage(part.number, "nodes", "a node number is too large");
  const auto is_finite = [](const Point& place) {
    return std::ranges::all_of(place, [](double x) { return std::isfinite(x); });
  };
  if (!std::ranges::all_of(part.coordinates, is_finite)) {
    return damage(part.number, "coordinates", "a coordinate is not finite");
  }
  const auto is_mark = [](BoundaryMarker mark) { return mark <= BoundaryMarker::kOutlet; };
  if (!std::ranges::all_of(part.markers, is_mark))
    return damage(part.number, "marks", "a marker is unknown");
  std::vector<bool> is_used(count);
  for (const Tetrahedron& element : part.elements) {
    for (const std::uint32_t node : element) {
      if (node >= count) return damage(part.number, "elements", "a node number is too large");
      is_used[node] = true;
    }
  }
  if (std::ranges::count(is_used, false) == 0) return {};
  return damage(part.number, "elements", "a node belongs to no element");
}

}  // namespace

Status put_mesh_info(PartStepWriter& step, const MeshInfo& info) {
  const std::array<std::uint64_t, kInfoNumbers> numbers{kVersion, info.parts, info.nodes,
                                                        info.elements, info.seed};
  return step.put_values<std::uint64_t>({"facts", 0}, numbers);
}

Result<MeshInfo> get_mesh_info(PartStepReader& step) {
  const auto numbers = step.get_values<std::uint64_t>({"facts", 0});
  if (!numbers) return failure(numbers.error());
  if (numbers->size() != kInfoNumbers) return damage(0, "facts", "the array has another length");
  const std::uint64_t version = numbers->front();
  const MeshInfo info{(*numbers)[1], (*numbers)[2], (*numbers)[3], (*numbers)[4]};
  if (version != kVersion) return damage(0, "facts", "the version is not 1");
  if (info.parts >= 1 && info.parts <= UINT32_MAX) return info;
  return damage(0, "facts", "the number of parts is invalid");
}

Status put_part(PartStepWriter& step, const MeshPart& part) {
  std::vector<std::uint32_t> markers;
  for (const BoundaryMarker mark : part.markers)
    markers.push_back(static_cast<std::uint32_t>(mark));
  std::vector<std::uint32_t> pairs;
  std::vector<std::uint32_t> shared;
  for (const Neighbor& neighbor : part.neighbors) {
    pairs.push_back(neighbor.part);
    pairs.push_back(static_cast<std::uint32_t>(neighbor.nodes.size()));
    shared.insert(shared.end(), neighbor.nodes.begin(), neighbor.nodes.end());
  }
  const auto name = [&](const char* array) { return ArrayName{array, part.number}; };
  Status put = step.put_values<std::uint64_t>(name("nodes"), part.nodes);
  if (put) put = step.put_values(name("coordinates"), flatten<double>(part.coordinates), 3);
  if (put) put = step.put_values<std::uint32_t>(name("marks"), markers);
  if (put) put = step.put_values(name("elements"), flatten<std::uint32_t>(part.elements), 4);
  if (put) put = step.put_values<std::uint32_t>(name("neighbours"), pairs, 2);
  if (put) put = step.put_values<std::uint32_t>(name("shared"), shared);
  return put;
}

Result<MeshPart> get_part(PartStepReader& step, std::uint32_t number, const MeshInfo& info) {
  PartReader reader(step, number);
  MeshPart part{.number = number};
  part.nodes = reader.get<std::uint64_t>("nodes");
  part.coordinates = unflatten<Point>(reader.get<double>("coordinates", 3));
  part.elements = unflatten<Tetrahedron>(reader.get<std::uint32_t>("elements", 4));
  for (const std::uint32_t mark : reader.get<std::uint32_t>("marks"))
    part.markers.push_back(static_cast<BoundaryMarker>(mark));
  const std::vector<std::uint32_t> pairs = reader.get<std::uint32_t>("neighbours", 2);
  const std::vector<std::uint32_t> shared = reader.get<std::uint32_t>("shared");
  Status status = reader.status();
  if (status) status = check_sizes(part, info);
  if (status) status = unpack_neighbors(part, pairs, shared);
  if (status) status = check_neighbors_of(part, info);
  if (status) status = count_node_groups(part);
  if (!status) return failure(status.error());
  return part;
}

}  // namespace forebay::flow
