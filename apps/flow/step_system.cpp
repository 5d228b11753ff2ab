// SPDX-License-Identifier: Apache-2.0
#include "flow/step_system.hpp"

#include <algorithm>

namespace forebay::flow {

StepSystem::StepSystem(const PartSet& set,
                       SolverComm& comm,
                       const Problem& problem,
                       PhaseTimes& times)
    : set_(set), problem_(problem), times_(times), halo_sum_(set, comm, times) {
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    const MeshPart& part = set.parts()[i];
    matrices_.emplace_back(part);
    for (std::size_t node = 0; node < part.node_count(); ++node)
      if (problem.is_dirichlet(part.markers[node]))
        dirichlet_nodes_.push_back(set.first_node(i) + node);
  }
  dirichlet_values_.resize(dirichlet_nodes_.size());
  load_.resize(set.node_count());
  inverse_diagonal_.resize(set.node_count());
}

namespace {

/// Adds the contribution of one element to its part.
void add_element(const Tetrahedron& element,
                 const ElementMatrices& matrices,
                 std::span<const double> source_terms,
                 SparseMatrix& matrix,
                 std::span<double> load) {
  for (std::size_t row = 0; row < element.size(); ++row) {
    for (std::size_t column = 0; column < element.size(); ++column) {
      matrix.add(element[row], element[column], matrices.system[row][column]);
      load[element[row]] += matrices.mass[row][column] * source_terms[element[column]];
    }
  }
}

}  // namespace

void StepSystem::assemble(TimeStep step, std::span<const double> before) {
  {
    const PhaseTimer timer(times_.assembly_s);
    std::ranges::fill(load_, 0.0);
    for (std::size_t i = 0; i < set_.parts().size(); ++i)
      assemble_part(i, step, before);
    auto next = dirichlet_nodes_.begin();
    auto value = dirichlet_values_.begin();
    for (std::size_t i = 0; i < set_.parts().size(); ++i) {
      const MeshPart& part = set_.parts()[i];
      const std::size_t first = set_.first_node(i);
      for (; next != dirichlet_nodes_.end() && *next < first + part.node_count(); ++next)
        *value++ = problem_.dirichlet_value(part.coordinates[*next - first], step.time);
    }
  }
  halo_sum_.add(load_);
  invert_diagonal();
}

void StepSystem::assemble_part(std::size_t i, TimeStep step, std::span<const double> before) {
  const MeshPart& part = set_.parts()[i];
  SparseMatrix& matrix = matrices_[i];
  const auto load = set_.slice(load_, i);
  const auto values = set_.slice(before, i);
  std::vector<double> source_terms(part.node_count());
  for (std::size_t node = 0; node < source_terms.size(); ++node) {
    source_terms[node] =
        problem_.source(part.coordinates[node], step.time) + values[node] / step.step_length;
  }
  matrix.clear();
  for (const Tetrahedron& element : part.elements) {
    Corners corners;
    for (std::size_t corner = 0; corner < corners.size(); ++corner)
      corners[corner] = part.coordinates[element[corner]];
    add_element(element, assemble_element(corners, problem_, step), source_terms, matrix, load);
  }
}

void StepSystem::invert_diagonal() {
  for (std::size_t i = 0; i < set_.parts().size(); ++i) {
    const auto piece = set_.slice(inverse_diagonal_, i);
    for (std::uint32_t node = 0; node < piece.size(); ++node)
      piece[node] = matrices_[i].diagonal(node);
  }
  halo_sum_.add(inverse_diagonal_);
  for (double& value : inverse_diagonal_)
    value = 1 / value;
  for (const std::size_t node : dirichlet_nodes_)
    inverse_diagonal_[node] = 1;
}

void StepSystem::apply_dirichlet(std::span<double> values) const {
  for (std::size_t i = 0; i < dirichlet_nodes_.size(); ++i)
    values[dirichlet_nodes_[i]] = dirichlet_values_[i];
}

void StepSystem::multiply(std::span<const double> in, std::span<double> out) {
  const auto rows = [&](auto range_of) {
    const PhaseTimer timer(times_.product_s);
    for (std::size_t i = 0; i < set_.parts().size(); ++i)
      matrices_[i].multiply(range_of(set_.parts()[i]), set_.slice(in, i), set_.slice(out, i));
  };
  rows([](const MeshPart& part) { return RowRange{0, part.shared_count}; });
  halo_sum_.start_exchange(out);
  rows([](const MeshPart& part) { return RowRange{part.shared_count, part.node_count()}; });
  halo_sum_.finish_exchange(out);
}

void StepSystem::multiply_free(std::span<const double> in, std::span<double> out) {
  multiply(in, out);
  for (const std::size_t node : dirichlet_nodes_)
    out[node] = 0;
}

void StepSystem::residual(std::span<const double> values, std::span<double> out) {
  multiply(values, out);
  for (std::size_t node = 0; node < out.size(); ++node)
    out[node] = load_[node] - out[node];
  for (const std::size_t node : dirichlet_nodes_)
    out[node] = 0;
}

}  // namespace forebay::flow
