// SPDX-License-Identifier: Apache-2.0
// Compares the solver with a direct solution of the same equations, and with a known solution.
#include "flow/solver.hpp"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "flow/simulation.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::PartitionedMesh;

/// A dense matrix, row by row. Gaussian elimination with the largest pivot of the column.
class DenseMatrix {
 public:
  explicit DenseMatrix(std::size_t size) : size_(size), values_(size * size) {}
  double& at(std::size_t row, std::size_t column) { return values_[row * size_ + column]; }

  std::vector<double> solve(std::vector<double> right) {
    for (std::size_t step = 0; step < size_; ++step) {
      swap_rows(step, pivot_of(step), right);
      for (std::size_t row = step + 1; row < size_; ++row) {
        const double factor = at(row, step) / at(step, step);
        if (factor == 0) continue;
        for (std::size_t column = step; column < size_; ++column)
          at(row, column) -= factor * at(step, column);
        right[row] -= factor * right[step];
      }
    }
    for (std::size_t row = size_; row-- > 0;) {
      for (std::size_t column = row + 1; column < size_; ++column)
        right[row] -= at(row, column) * right[column];
      right[row] /= at(row, row);
    }
    return right;
  }

 private:
  std::size_t pivot_of(std::size_t step) {
    std::size_t pivot = step;
    for (std::size_t row = step + 1; row < size_; ++row)
      if (std::abs(at(row, step)) > std::abs(at(pivot, step))) pivot = row;
    return pivot;
  }
  void swap_rows(std::size_t one, std::size_t other, std::vector<double>& right) {
    if (one == other) return;
    for (std::size_t column = 0; column < size_; ++column)
      std::swap(at(one, column), at(other, column));
    std::swap(right[one], right[other]);
  }

  std::size_t size_;
  std::vector<double> values_;
};

/// One step of a problem: assembled from the elements of the whole mesh without parts, and solved
/// directly.
std::vector<double> direct_step(const Mesh& mesh,
                                const Problem& problem,
                                TimeStep step,
                                std::span<const double> before) {
  DenseMatrix matrix(mesh.node_count());
  std::vector<double> right(mesh.node_count());
  for (std::uint64_t element = 0; element < mesh.element_count(); ++element) {
    const auto nodes = mesh.nodes_of(element);
    Corners corners;
    for (std::size_t i = 0; i < 4; ++i)
      corners[i] = mesh.position(nodes[i]);
    const ElementMatrices matrices = assemble_element(corners, problem, step);
    for (std::size_t entry = 0; entry < 16; ++entry) {
      const std::size_t i = entry / 4;
      const std::size_t j = entry % 4;
      matrix.at(nodes[i], nodes[j]) += matrices.system[i][j];
      right[nodes[i]] += matrices.mass[i][j] * (problem.source(corners[j], step.time) +
                                                before[nodes[j]] / step.step_length);
    }
  }
  for (std::uint64_t node = 0; node < mesh.node_count(); ++node) {
    if (!problem.is_dirichlet(mesh.marker(node))) continue;
    for (std::uint64_t column = 0; column < mesh.node_count(); ++column)
      matrix.at(node, column) = node == column ? 1 : 0;
    right[node] = problem.dirichlet_value(mesh.position(node), step.time);
  }
  return matrix.solve(std::move(right));
}

void expect_direct_solution(ProblemKind kind) {
  const PartitionedMesh partitioned =
      PartitionedMesh::create({.cells_across = 5, .cells_along = 14, .seed = 8}, {.parts = 6});
  const auto problem = make_problem(kind);
  constexpr double kStepLength = 0.1;
  std::vector<double> wanted(partitioned.mesh.node_count());
  for (std::uint64_t node = 0; node < wanted.size(); ++node)
    wanted[node] = problem->initial_value(partitioned.mesh.position(node));
  for (int step = 1; step <= 3; ++step)
    wanted = direct_step(partitioned.mesh, *problem, {step * kStepLength, kStepLength}, wanted);
  double largest = 0;
  for (const double value : wanted)
    largest = std::max(largest, std::abs(value));
  EXPECT_GT(largest, 1e-3) << "the solution is almost zero";
  run_thread_ranks(2, [&](SolverComm& comm) {
    const PartSet set = partitioned.part_set(make_round_robin_map(6, 2), comm.rank());
    Simulation simulation(set, comm, *problem,
                          {.step_length = kStepLength, .solver = {.tolerance = 1e-12}});
    for (int step = 1; step <= 3; ++step) {
      const Result<SolverReport> report = simulation.advance();
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_LE(report->relative_residual, 1e-12);
      EXPECT_GT(report->iterations, 1U);
    }
    for (std::size_t i = 0; i < set.parts().size(); ++i) {
      const auto piece = set.slice(simulation.values(), i);
      for (std::size_t node = 0; node < piece.size(); ++node)
        EXPECT_NEAR(piece[node], wanted[set.parts()[i].nodes[node]], 1e-10 * largest);
    }
  });
}

TEST(Solver, cg_finds_the_direct_solution) { expect_direct_solution(ProblemKind::kDiffusion); }

TEST(Solver, gmres_finds_the_direct_solution) { expect_direct_solution(ProblemKind::kAdvection); }

/// u = (1 + t) p with p = x y z + x^2 - 2 y^2 + z / 2, which is not a linear function, and a
/// rotating flow. The source is chosen such that u is the solution.
class Manufactured final : public Problem {
 public:
  explicit Manufactured(Symmetry symmetry) : symmetry_(symmetry) {}
  Symmetry symmetry() const override { return symmetry_; }
  double diffusivity() const override { return 0.2; }
  Point velocity(const Point& x, double) const override {
    if (symmetry_ == Symmetry::kSymmetric) return {};
    return {0.3 - x[1], x[0], 1};
  }
  double source(const Point& x, double t) const override {
    const Point b = velocity(x, t);
    const Point slope{x[1] * x[2] + 2 * x[0], x[0] * x[2] - 4 * x[1], x[0] * x[1] + 0.5};
    const double along = b[0] * slope[0] + b[1] * slope[1] + b[2] * slope[2];
    return shape(x) + (1 + t) * (along - diffusivity() * (2 - 4));
  }
  double initial_value(const Point& x) const override { return exact(x, 0); }
  bool is_dirichlet(BoundaryMarker mark) const override {
    return mark != BoundaryMarker::kInterior;
  }
  double dirichlet_value(const Point& x, double t) const override { return exact(x, t); }

  static double exact(const Point& x, double t) { return (1 + t) * shape(x); }

 private:
  static double shape(const Point& x) {
    return x[0] * x[1] * x[2] + x[0] * x[0] - 2 * x[1] * x[1] + x[2] / 2;
  }
  Symmetry symmetry_;
};

/// Root mean square error of nodes after three steps. The solution is linear in time, so implicit
/// Euler adds no error.
double mean_error(std::uint32_t cells, Symmetry symmetry) {
  const PartitionedMesh partitioned = PartitionedMesh::create(
      {.shape = MeshShape::kBox, .cells_across = cells, .cells_along = 4 * cells, .grading = 0.3},
      {.parts = 5});
  const Manufactured problem(symmetry);
  double error = 0;
  run_thread_ranks(1, [&](SolverComm& comm) {
    const PartSet set = partitioned.part_set(make_block_map(5, 1), 0);
    Simulation simulation(set, comm, problem,
                          {.step_length = 0.25, .solver = {.tolerance = 1e-11}});
    for (int step = 0; step < 3; ++step)
      ASSERT_TRUE(simulation.advance());
    testing::for_each_node(
        set, simulation.values(), [&](const MeshPart& part, std::size_t node, double value) {
          const double off = value - Manufactured::exact(part.coordinates[node], 0.75);
          error += off * off;
        });
  });
  return std::sqrt(error / static_cast<double>(partitioned.mesh.node_count()));
}

TEST(Solver, error_decreases_with_the_square_of_the_cell_size) {
  for (const Symmetry symmetry : {Symmetry::kSymmetric, Symmetry::kGeneral}) {
    const double coarse = mean_error(6, symmetry);
    const double fine = mean_error(12, symmetry);
    EXPECT_LT(coarse, 0.01);
    EXPECT_GT(coarse / fine, 3) << coarse << ' ' << fine;
    EXPECT_GT(fine, 1e-9) << "the test's solution is too simple";
  }
}

TEST(Solver, too_few_iterations_are_an_error_and_keep_the_state) {
  const PartitionedMesh partitioned =
      PartitionedMesh::create({.cells_across = 4, .cells_along = 12}, {.parts = 4});
  for (const ProblemKind kind : {ProblemKind::kDiffusion, ProblemKind::kAdvection}) {
    const auto problem = make_problem(kind);
    run_thread_ranks(3, [&](SolverComm& comm) {
      const PartSet set = partitioned.part_set(make_block_map(4, 3), comm.rank());
      SimulationOptions options{.step_length = 5};
      options.solver.iterations = 3;
      Simulation simulation(set, comm, *problem, options);
      const Vector before(simulation.values().begin(), simulation.values().end());
      const Result<SolverReport> report = simulation.advance();
      ASSERT_FALSE(report);
      EXPECT_EQ(report.error().kind(), ErrorClass::kLimit);
      EXPECT_EQ(simulation.steps_done(), 0U);
      EXPECT_EQ(before, Vector(simulation.values().begin(), simulation.values().end()));
    });
  }
}

TEST(Solver, system_without_free_nodes_takes_no_iteration) {
  const Manufactured problem(Symmetry::kSymmetric);
  // A mesh that is one cell wide has no free node.
  const PartitionedMesh flat =
      PartitionedMesh::create({.cells_across = 1, .cells_along = 6}, {.parts = 2});
  run_thread_ranks(2, [&](SolverComm& comm) {
    const PartSet set = flat.part_set(make_block_map(2, 2), comm.rank());
    Simulation simulation(set, comm, problem, {});
    const Result<SolverReport> report = simulation.advance();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->iterations, 0U);
  });
}

}  // namespace
}  // namespace forebay::flow
