// SPDX-License-Identifier: Apache-2.0
#include "flow/step_system.hpp"

#include <algorithm>

namespace forebay::flow {

StepSystem::StepSystem(const PartSet& set, Team& team, const Problem& problem, PhaseTimes& times)
    : set_(set), problem_(problem), times_(times), shared_(set, team, times) {
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    const Part& part = set.parts()[i];
    matrices_.emplace_back(part);
    for (std::size_t node = 0; node < part.node_count(); ++node)
      if (problem.is_fixed(part.marks[node])) fixed_.push_back(set.first_of(i) + node);
  }
  fixed_values_.resize(fixed_.size());
  load_.resize(set.node_count());
  inverse_diagonal_.resize(set.node_count());
}

namespace {

/// Adds what one element has formed to its part.
void add_element(const Tetrahedron& element,
                 const ElementMatrices& formed,
                 std::span<const double> driving,
                 SparseMatrix& matrix,
                 std::span<double> load) {
  for (std::size_t row = 0; row < element.size(); ++row) {
    for (std::size_t column = 0; column < element.size(); ++column) {
      matrix.add(element[row], element[column], formed.system[row][column]);
      load[element[row]] += formed.mass[row][column] * driving[element[column]];
    }
  }
}

}  // namespace

void StepSystem::form(StepFacts step, std::span<const double> before) {
  {
    const PhaseTimer timer(times_.assembly_s);
    std::ranges::fill(load_, 0.0);
    for (std::size_t i = 0; i < set_.parts().size(); ++i)
      form_part(i, step, before);
    auto next = fixed_.begin();
    auto value = fixed_values_.begin();
    for (std::size_t i = 0; i < set_.parts().size(); ++i) {
      const Part& part = set_.parts()[i];
      const std::size_t first = set_.first_of(i);
      for (; next != fixed_.end() && *next < first + part.node_count(); ++next)
        *value++ = problem_.fixed_value(part.coordinates[*next - first], step.time);
    }
  }
  shared_.add(load_);
  invert_diagonal();
}

void StepSystem::form_part(std::size_t i, StepFacts step, std::span<const double> before) {
  const Part& part = set_.parts()[i];
  SparseMatrix& matrix = matrices_[i];
  const auto load = set_.piece(load_, i);
  const auto values = set_.piece(before, i);
  std::vector<double> driving(part.node_count());
  for (std::size_t node = 0; node < driving.size(); ++node) {
    driving[node] =
        problem_.source(part.coordinates[node], step.time) + values[node] / step.step_length;
  }
  matrix.clear();
  for (const Tetrahedron& element : part.elements) {
    Corners corners;
    for (std::size_t corner = 0; corner < corners.size(); ++corner)
      corners[corner] = part.coordinates[element[corner]];
    add_element(element, form_element(corners, problem_, step), driving, matrix, load);
  }
}

void StepSystem::invert_diagonal() {
  for (std::size_t i = 0; i < set_.parts().size(); ++i) {
    const auto piece = set_.piece(inverse_diagonal_, i);
    for (std::uint32_t node = 0; node < piece.size(); ++node)
      piece[node] = matrices_[i].diagonal(node);
  }
  shared_.add(inverse_diagonal_);
  for (double& value : inverse_diagonal_)
    value = 1 / value;
  for (const std::size_t node : fixed_)
    inverse_diagonal_[node] = 1;
}

void StepSystem::fix(std::span<double> values) const {
  for (std::size_t i = 0; i < fixed_.size(); ++i)
    values[fixed_[i]] = fixed_values_[i];
}

void StepSystem::multiply(std::span<const double> in, std::span<double> out) {
  const auto rows = [&](auto range_of) {
    const PhaseTimer timer(times_.product_s);
    for (std::size_t i = 0; i < set_.parts().size(); ++i)
      matrices_[i].multiply(range_of(set_.parts()[i]), set_.piece(in, i), set_.piece(out, i));
  };
  rows([](const Part& part) { return RowRange{0, part.shared_count}; });
  shared_.start(out);
  rows([](const Part& part) { return RowRange{part.shared_count, part.node_count()}; });
  shared_.finish(out);
}

void StepSystem::multiply_free(std::span<const double> in, std::span<double> out) {
  multiply(in, out);
  for (const std::size_t node : fixed_)
    out[node] = 0;
}

void StepSystem::residual(std::span<const double> values, std::span<double> out) {
  multiply(values, out);
  for (std::size_t node = 0; node < out.size(); ++node)
    out[node] = load_[node] - out[node];
  for (const std::size_t node : fixed_)
    out[node] = 0;
}

}  // namespace forebay::flow
