// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of this directory: meshes in parts in memory, and communicators to run on.
// For tests only.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "flow/mesh.hpp"
#include "flow/part_builder.hpp"
#include "flow/part_map.hpp"
#include "flow/part_set.hpp"
#include "flow/part_store.hpp"
#include "flow/partition.hpp"
#include "flow/solver_comm.hpp"
#include "flow/thread_solver_comm.hpp"

namespace forebay::flow::testing {

/// A mesh and its parts.
struct PartitionedMesh {
  Mesh mesh;
  Partition partition;
  std::vector<MeshPart> parts;

  static PartitionedMesh create(const MeshOptions& mesh_options, const PartitionOptions& options) {
    Mesh mesh = Mesh::create(mesh_options).value();
    Partition partition = Partition::create(mesh, options).value();
    std::vector<MeshPart> parts;
    for (std::uint32_t number = 0; number < options.parts; ++number)
      parts.push_back(build_part(mesh, partition, number));
    return {mesh, std::move(partition), std::move(parts)};
  }

  PartSet part_set(const PartMap& map, std::uint32_t rank) const {
    std::vector<MeshPart> local;
    for (const std::uint32_t number : map.parts_of(rank))
      local.push_back(parts[number]);
    return {map, rank, std::move(local)};
  }
};

/// Calls `work` on each rank of each communicator that the test program has: threads, or the ranks
/// of its MPI job. Each test program defines it.
void for_each_comm(const std::function<void(SolverComm&)>& work);

/// As for_each_comm(), with persistent stores: directories on all communicators, datasets on those
/// that can write them. Both are defined beside for_each_comm().
void for_each_dataset_comm(const std::function<void(SolverComm&, const StoreOpener&)>& work);
void for_each_store(const std::function<void(SolverComm&, const StoreOpener&)>& work);

/// Maps of all kinds; some leave ranks without a part.
inline std::vector<PartMap> make_all_maps(std::uint32_t parts, std::uint32_t ranks) {
  std::vector<PartMap> maps{make_block_map(parts, ranks), make_round_robin_map(parts, ranks),
                            PartMap(std::vector<std::uint32_t>(parts, ranks - 1), ranks)};
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    maps.push_back(make_random_map(parts, ranks, seed));
  return maps;
}

/// Calls `work(comm, map)` on each communicator, with maps of all kinds.
inline void for_each_map(std::uint32_t parts,
                         const std::function<void(SolverComm&, const PartMap&)>& work) {
  for_each_comm([&](SolverComm& comm) {
    for (const PartMap& map : make_all_maps(parts, comm.size()))
      work(comm, map);
  });
}

/// Calls `visit(part, node, value)` for each node of each part.
template <class Values, class Visit>
void for_each_node(const PartSet& set, Values&& values, const Visit& visit) {
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    const auto piece = set.slice(values, i);
    for (std::size_t node = 0; node < piece.size(); ++node)
      visit(set.parts()[i], node, piece[node]);
  }
}

}  // namespace forebay::flow::testing
