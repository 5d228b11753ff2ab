// SPDX-License-Identifier: Apache-2.0
// The main property of this application: the same bits on any number of ranks, with any map, and
// after a restart with another one.
#include <map>

#include <gtest/gtest.h>

#include "flow/part_fingerprints.hpp"
#include "flow/simulation.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::for_each_comm;
using testing::for_each_map;
using testing::for_each_node;
using testing::PartitionedMesh;

constexpr std::uint32_t kParts = 13;

const PartitionedMesh& tube_mesh() {
  static const PartitionedMesh partitioned = PartitionedMesh::create(
      {.cells_across = 6, .cells_along = 15, .seed = 21}, {.parts = kParts, .seed = 4});
  return partitioned;
}

void advance(Simulation& simulation, int steps) {
  for (int step = 0; step < steps; ++step) {
    const Result<SolverReport> report = simulation.advance();
    ASSERT_TRUE(report) << report.error().message();
  }
}

/// Fingerprints after each of four steps, on one rank.
std::vector<std::uint64_t> single_rank_fingerprints(ProblemKind kind) {
  const auto problem = make_problem(kind);
  std::vector<std::uint64_t> hashes;
  run_thread_ranks(1, [&](SolverComm& comm) {
    const PartSet set = tube_mesh().part_set(make_block_map(kParts, 1), 0);
    Simulation simulation(set, comm, *problem, {});
    for (int step = 0; step < 4; ++step) {
      advance(simulation, 1);
      hashes.push_back(fingerprint_of_values(set, comm, simulation.values()));
    }
  });
  return hashes;
}

TEST(Simulation, bits_do_not_depend_on_ranks_or_map) {
  for (const ProblemKind kind : {ProblemKind::kDiffusion, ProblemKind::kAdvection}) {
    const std::vector<std::uint64_t> wanted = single_rank_fingerprints(kind);
    EXPECT_NE(wanted[0], wanted[1]);
    const auto problem = make_problem(kind);
    for_each_map(kParts, [&](SolverComm& comm, const PartMap& map) {
      const PartSet set = tube_mesh().part_set(map, comm.rank());
      Simulation simulation(set, comm, *problem, {});
      for (const std::uint64_t hash : wanted) {
        advance(simulation, 1);
        EXPECT_EQ(fingerprint_of_values(set, comm, simulation.values()), hash);
      }
    });
  }
}

using PartValues = std::map<std::uint32_t, std::vector<double>>;

/// Values of each part after two steps on one rank.
PartValues single_rank_values(const Problem& problem) {
  PartValues saved;
  run_thread_ranks(1, [&](SolverComm& comm) {
    const PartSet set = tube_mesh().part_set(make_block_map(kParts, 1), 0);
    Simulation simulation(set, comm, problem, {});
    advance(simulation, 2);
    for_each_node(set, simulation.values(), [&](const MeshPart& part, std::size_t, double value) {
      saved[part.number].push_back(value);
    });
  });
  return saved;
}

TEST(Simulation, restart_on_other_ranks_computes_the_same_bits) {
  for (const ProblemKind kind : {ProblemKind::kDiffusion, ProblemKind::kAdvection}) {
    const std::vector<std::uint64_t> wanted = single_rank_fingerprints(kind);
    const auto problem = make_problem(kind);
    const PartValues saved = single_rank_values(*problem);
    for_each_comm([&](SolverComm& comm) {
      const PartSet set =
          tube_mesh().part_set(make_random_map(kParts, comm.size(), 9), comm.rank());
      Simulation simulation(set, comm, *problem, {});
      Vector values;
      for (const MeshPart& part : set.parts()) {
        const std::vector<double>& piece = saved.at(part.number);
        values.insert(values.end(), piece.begin(), piece.end());
      }
      simulation.restore(2, values);
      advance(simulation, 2);
      EXPECT_EQ(fingerprint_of_values(set, comm, simulation.values()), wanted[3]);
    });
  }
}

TEST(Simulation, averages_are_means_of_the_last_steps) {
  const auto problem = make_problem(ProblemKind::kDiffusion);
  for_each_comm([&](SolverComm& comm) {
    const PartSet set = tube_mesh().part_set(make_block_map(kParts, comm.size()), comm.rank());
    Simulation simulation(set, comm, *problem, {.averages = 2});
    advance(simulation, 1);
    const Vector first(simulation.values().begin(), simulation.values().end());
    advance(simulation, 1);
    for (std::size_t node = 0; node < first.size(); ++node) {
      const double second = simulation.values()[node];
      EXPECT_DOUBLE_EQ(simulation.averages()[2 * node], first[node] / 4 + second / 2);
      EXPECT_DOUBLE_EQ(simulation.averages()[2 * node + 1], first[node] * 2 / 9 + second / 3);
    }
  });
}

TEST(Simulation, copies_of_a_node_are_equal) {
  const auto problem = make_problem(ProblemKind::kAdvection);
  run_thread_ranks(1, [&](SolverComm& comm) {
    const PartSet set = tube_mesh().part_set(make_block_map(kParts, 1), 0);
    Simulation simulation(set, comm, *problem, {});
    advance(simulation, 2);
    std::map<std::uint64_t, double> values;
    for_each_node(set, simulation.values(),
                  [&](const MeshPart& part, std::size_t node, double value) {
                    EXPECT_EQ(values.emplace(part.nodes[node], value).first->second, value);
                  });
  });
}

}  // namespace
}  // namespace forebay::flow
