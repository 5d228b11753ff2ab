// SPDX-License-Identifier: Apache-2.0
#include "flow/part_fingerprints.hpp"

#include <algorithm>
#include <vector>

#include "flow/fingerprint.hpp"

namespace forebay::flow {

std::uint64_t fingerprint_of_all(const PartSet& set,
                                 SolverComm& comm,
                                 std::span<const std::uint64_t> of_parts) {
  const PartMap& map = set.map();
  std::vector<std::size_t> sizes;
  std::vector<std::uint32_t> order;
  for (std::uint32_t rank = 0; rank < map.rank_count(); ++rank) {
    const auto parts = map.parts_of(rank);
    sizes.push_back(parts.size() * sizeof(std::uint64_t));
    order.insert(order.end(), parts.begin(), parts.end());
  }
  std::vector<std::uint64_t> gathered(order.size());
  comm.allgatherv(std::as_bytes(of_parts), sizes, std::as_writable_bytes(std::span(gathered)));
  std::vector<std::uint64_t> by_part(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    by_part[order[i]] = gathered[i];
  Fingerprint hash;
  hash.add(std::as_bytes(std::span(by_part)));
  return hash.value();
}

std::uint64_t fingerprint_of_values(const PartSet& set,
                                    SolverComm& comm,
                                    std::span<const double> values,
                                    std::size_t width) {
  std::vector<std::uint64_t> of_parts;
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    const MeshPart& part = set.parts()[i];
    const auto piece = set.rows(values, width, i);
    Fingerprint one;
    one.add(std::as_bytes(piece.first(part.owned_shared_count * width)));
    one.add(std::as_bytes(piece.subspan(part.shared_count * width)));
    of_parts.push_back(one.value());
  }
  return fingerprint_of_all(set, comm, of_parts);
}

std::uint64_t fingerprint_of_mesh(const PartSet& set, SolverComm& comm) {
  std::vector<std::uint64_t> of_parts;
  for (const MeshPart& part : set.parts()) {
    Fingerprint one;
    one.add(std::as_bytes(std::span(part.nodes)));
    one.add(std::as_bytes(std::span(part.coordinates)));
    one.add(std::as_bytes(std::span(part.markers)));
    one.add(std::as_bytes(std::span(part.elements)));
    of_parts.push_back(one.value());
  }
  return fingerprint_of_all(set, comm, of_parts);
}

Status check_neighbors(const PartSet& set, SolverComm& comm) {
  // For each pair, the lower part adds the hash and the higher one subtracts it.
  std::uint64_t balance = 0;
  for (const MeshPart& part : set.parts()) {
    for (const Neighbor& neighbor : part.neighbors) {
      Fingerprint pair;
      pair.add(std::min(part.number, neighbor.part));
      pair.add(std::max(part.number, neighbor.part));
      for (const std::uint32_t node : neighbor.nodes)
        pair.add(part.nodes[node]);
      balance += part.number < neighbor.part ? pair.value() : -pair.value();
    }
  }
  std::uint64_t total = 0;
  for (const std::uint64_t one : comm.allgather(balance))
    total += one;
  if (total == 0) return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "check neighbors",
                  .cause = "two parts do not agree on the nodes that they share"});
}

}  // namespace forebay::flow
