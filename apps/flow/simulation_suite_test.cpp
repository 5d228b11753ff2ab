// SPDX-License-Identifier: Apache-2.0
// The promise of this application: the same bits on any number of ranks, with any map, and after a
// restart with another one.
#include <map>

#include <gtest/gtest.h>

#include "flow/part_fingerprints.hpp"
#include "flow/simulation.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::CutMesh;
using testing::for_each_node;
using testing::on_each_map;
using testing::on_each_team;

constexpr std::uint32_t kParts = 13;

const CutMesh& parts_of_tube() {
  static const CutMesh cut =
      CutMesh::of({.cells_across = 6, .cells_along = 15, .seed = 21}, {.parts = kParts, .seed = 4});
  return cut;
}

void advance(Simulation& simulation, int steps) {
  for (int step = 0; step < steps; ++step) {
    const Result<SolverReport> report = simulation.advance();
    ASSERT_TRUE(report) << report.error().message();
  }
}

/// Bits after each of four steps, on one rank.
std::vector<std::uint64_t> alone(ProblemKind kind) {
  const auto problem = make_problem(kind);
  std::vector<std::uint64_t> prints;
  run_as_threads(1, [&](Team& team) {
    const PartSet set = parts_of_tube().set_of(map_in_blocks(kParts, 1), 0);
    Simulation simulation(set, team, *problem, {});
    for (int step = 0; step < 4; ++step) {
      advance(simulation, 1);
      prints.push_back(fingerprint_of_values(set, team, simulation.values()));
    }
  });
  return prints;
}

TEST(Simulation, bits_do_not_depend_on_ranks_or_map) {
  for (const ProblemKind kind : {ProblemKind::kDiffusion, ProblemKind::kAdvection}) {
    const std::vector<std::uint64_t> wanted = alone(kind);
    EXPECT_NE(wanted[0], wanted[1]);
    const auto problem = make_problem(kind);
    on_each_map(kParts, [&](Team& team, const PartMap& map) {
      const PartSet set = parts_of_tube().set_of(map, team.rank());
      Simulation simulation(set, team, *problem, {});
      for (const std::uint64_t print : wanted) {
        advance(simulation, 1);
        EXPECT_EQ(fingerprint_of_values(set, team, simulation.values()), print);
      }
    });
  }
}

using Saved = std::map<std::uint32_t, std::vector<double>>;

/// Values of each part after two steps on one rank.
Saved saved_alone(const Problem& problem) {
  Saved saved;
  run_as_threads(1, [&](Team& team) {
    const PartSet set = parts_of_tube().set_of(map_in_blocks(kParts, 1), 0);
    Simulation simulation(set, team, problem, {});
    advance(simulation, 2);
    for_each_node(set, simulation.values(), [&](const Part& part, std::size_t, double value) {
      saved[part.number].push_back(value);
    });
  });
  return saved;
}

TEST(Simulation, a_restart_elsewhere_goes_on_with_the_same_bits) {
  for (const ProblemKind kind : {ProblemKind::kDiffusion, ProblemKind::kAdvection}) {
    const std::vector<std::uint64_t> wanted = alone(kind);
    const auto problem = make_problem(kind);
    const Saved saved = saved_alone(*problem);
    on_each_team([&](Team& team) {
      const PartSet set =
          parts_of_tube().set_of(map_at_random(kParts, team.size(), 9), team.rank());
      Simulation simulation(set, team, *problem, {});
      Vector values;
      for (const Part& part : set.parts()) {
        const std::vector<double>& piece = saved.at(part.number);
        values.insert(values.end(), piece.begin(), piece.end());
      }
      simulation.restore(2, values);
      advance(simulation, 2);
      EXPECT_EQ(fingerprint_of_values(set, team, simulation.values()), wanted[3]);
    });
  }
}

TEST(Simulation, averages_are_means_of_the_last_steps) {
  const auto problem = make_problem(ProblemKind::kDiffusion);
  on_each_team([&](Team& team) {
    const PartSet set = parts_of_tube().set_of(map_in_blocks(kParts, team.size()), team.rank());
    Simulation simulation(set, team, *problem, {.averages = 2});
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
  run_as_threads(1, [&](Team& team) {
    const PartSet set = parts_of_tube().set_of(map_in_blocks(kParts, 1), 0);
    Simulation simulation(set, team, *problem, {});
    advance(simulation, 2);
    std::map<std::uint64_t, double> values;
    for_each_node(set, simulation.values(), [&](const Part& part, std::size_t node, double value) {
      EXPECT_EQ(values.emplace(part.nodes[node], value).first->second, value);
    });
  });
}

}  // namespace
}  // namespace forebay::flow
