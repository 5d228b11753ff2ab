// SPDX-License-Identifier: Apache-2.0
#include "flow/part_builder.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace forebay::flow {

namespace {

/// A node of the part, and the other parts that have it.
struct SharedNode {
  std::uint64_t node = 0;
  std::vector<std::uint32_t> parts;  ///< all that have it, in ascending order
};

std::vector<std::uint64_t> nodes_of(const Mesh& mesh, std::span<const std::uint64_t> elements) {
  std::vector<std::uint64_t> nodes;
  nodes.reserve(4 * elements.size());
  for (const std::uint64_t element : elements) {
    const auto corners = mesh.nodes_of(element);
    nodes.insert(nodes.end(), corners.begin(), corners.end());
  }
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

std::vector<std::uint32_t> parts_with(const Mesh& mesh,
                                      const Partition& partition,
                                      std::uint64_t node) {
  const ElementList around = mesh.elements_around(node);
  std::vector<std::uint32_t> parts;
  for (std::size_t i = 0; i < around.count; ++i)
    parts.push_back(partition.part_of(around.numbers[i]));
  std::ranges::sort(parts);
  parts.erase(std::ranges::unique(parts).begin(), parts.end());
  return parts;
}

/// Sorts the nodes into the three groups. Returns the shared nodes with their parts.
std::vector<SharedNode> classify_nodes(const Mesh& mesh,
                                       const Partition& partition,
                                       MeshPart& part) {
  std::vector<SharedNode> owned;
  std::vector<SharedNode> ghosts;
  std::vector<std::uint64_t> inner;
  for (const std::uint64_t node : nodes_of(mesh, partition.elements_of(part.number))) {
    std::vector<std::uint32_t> parts = parts_with(mesh, partition, node);
    if (parts.size() == 1) {
      inner.push_back(node);
    } else {
      const bool is_mine = parts.front() == part.number;
      (is_mine ? owned : ghosts).push_back({node, std::move(parts)});
    }
  }
  part.owned_shared_count = owned.size();
  std::vector<SharedNode> shared = std::move(owned);
  std::ranges::move(ghosts, std::back_inserter(shared));
  part.shared_count = shared.size();
  for (const SharedNode& one : shared)
    part.nodes.push_back(one.node);
  part.nodes.insert(part.nodes.end(), inner.begin(), inner.end());
  return shared;
}

std::vector<Neighbor> neighbors_of(const MeshPart& part, std::span<const SharedNode> shared) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> nodes_with;
  for (std::uint32_t local = 0; local < shared.size(); ++local) {
    for (const std::uint32_t other : shared[local].parts)
      if (other != part.number) nodes_with[other].push_back(local);
  }
  std::vector<Neighbor> neighbors;
  for (auto& [other, nodes] : nodes_with) {
    std::ranges::sort(nodes, {}, [&](std::uint32_t local) { return part.nodes[local]; });
    neighbors.push_back({other, std::move(nodes)});
  }
  return neighbors;
}

std::vector<Tetrahedron> elements_of(const Mesh& mesh,
                                     const Partition& partition,
                                     const MeshPart& part) {
  std::unordered_map<std::uint64_t, std::uint32_t> local_of;
  local_of.reserve(part.nodes.size());
  for (std::uint32_t local = 0; local < part.nodes.size(); ++local)
    local_of.emplace(part.nodes[local], local);
  std::vector<Tetrahedron> elements;
  for (const std::uint64_t element : partition.elements_of(part.number)) {
    const auto corners = mesh.nodes_of(element);
    Tetrahedron local{};
    for (std::size_t corner = 0; corner < corners.size(); ++corner)
      local[corner] = local_of.at(corners[corner]);
    elements.push_back(local);
  }
  return elements;
}

}  // namespace

MeshPart build_part(const Mesh& mesh, const Partition& partition, std::uint32_t number) {
  MeshPart part;
  part.number = number;
  const std::vector<SharedNode> shared = classify_nodes(mesh, partition, part);
  part.neighbors = neighbors_of(part, shared);
  part.elements = elements_of(mesh, partition, part);
  for (const std::uint64_t node : part.nodes) {
    part.coordinates.push_back(mesh.position(node));
    part.markers.push_back(mesh.marker(node));
  }
  return part;
}

}  // namespace forebay::flow
