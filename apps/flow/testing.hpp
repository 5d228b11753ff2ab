// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: cut meshes in memory, and teams to run on. For tests only.
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
#include "flow/team.hpp"
#include "flow/thread_team.hpp"

namespace forebay::flow::testing {

/// A mesh and its parts.
struct CutMesh {
  Mesh mesh;
  Partition partition;
  std::vector<Part> parts;

  static CutMesh of(const MeshOptions& mesh_options, const PartitionOptions& options) {
    Mesh mesh = Mesh::of(mesh_options).value();
    Partition partition = Partition::of(mesh, options).value();
    std::vector<Part> parts;
    for (std::uint32_t number = 0; number < options.parts; ++number)
      parts.push_back(make_part(mesh, partition, number));
    return {mesh, std::move(partition), std::move(parts)};
  }

  PartSet set_of(const PartMap& map, std::uint32_t rank) const {
    std::vector<Part> mine;
    for (const std::uint32_t number : map.parts_of(rank))
      mine.push_back(parts[number]);
    return {map, rank, std::move(mine)};
  }
};

/// Runs `work` on each rank of each team that the test program has: threads, or the ranks of its
/// MPI job. Defined once in each of them.
void on_each_team(const std::function<void(Team&)>& work);

/// The same with stores that keep files: folders on all teams, datasets on those that can write
/// them. Both are defined beside on_each_team().
void on_dataset_teams(const std::function<void(Team&, const StoreOpener&)>& work);
void on_each_store(const std::function<void(Team&, const StoreOpener&)>& work);

/// Maps of all kinds, some of which leave ranks without a part.
inline std::vector<PartMap> all_maps(std::uint32_t parts, std::uint32_t ranks) {
  std::vector<PartMap> maps{map_in_blocks(parts, ranks), map_round_robin(parts, ranks),
                            PartMap(std::vector<std::uint32_t>(parts, ranks - 1), ranks)};
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    maps.push_back(map_at_random(parts, ranks, seed));
  return maps;
}

/// Runs `work(team, map)` on each team with maps of all kinds.
inline void on_each_map(std::uint32_t parts,
                        const std::function<void(Team&, const PartMap&)>& work) {
  on_each_team([&](Team& team) {
    for (const PartMap& map : all_maps(parts, team.size()))
      work(team, map);
  });
}

/// Calls `visit(part, node, value)` for each node of each part.
template <class Values, class Visit>
void for_each_node(const PartSet& set, Values&& values, const Visit& visit) {
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    const auto piece = set.piece(values, i);
    for (std::size_t node = 0; node < piece.size(); ++node)
      visit(set.parts()[i], node, piece[node]);
  }
}

}  // namespace forebay::flow::testing
