// SPDX-License-Identifier: Apache-2.0
// A cycle of GMRES, for any matrix: the smallest residual that a number of products can reach.
#include <cmath>
#include <vector>

#include "flow/krylov.hpp"

namespace forebay::flow {

namespace {

/// The small least-squares problem of GMRES, kept triangular by rotations.
class Triangle {
 public:
  explicit Triangle(double first) : right_{first} {}

  /// Adds a column: its entries down to the one below the diagonal. Gives back what is left of
  /// the residual.
  double add(std::vector<double> column) {
    const std::size_t last = columns_.size();
    for (std::size_t i = 0; i < last; ++i)
      rotate(rotations_[i], column[i], column[i + 1]);
    const double length = std::hypot(column[last], column[last + 1]);
    rotations_.push_back(length > 0 ? Rotation{column[last] / length, column[last + 1] / length}
                                    : Rotation{1, 0});
    rotate(rotations_.back(), column[last], column[last + 1]);
    right_.push_back(0);
    rotate(rotations_.back(), right_[last], right_[last + 1]);
    columns_.push_back(std::move(column));
    return std::abs(right_.back());
  }

  std::vector<double> solve() const {
    std::vector<double> weights(columns_.size());
    for (std::size_t row = weights.size(); row-- > 0;) {
      double sum = right_[row];
      for (std::size_t column = row + 1; column < weights.size(); ++column)
        sum -= columns_[column][row] * weights[column];
      weights[row] = sum / columns_[row][row];
    }
    return weights;
  }

 private:
  struct Rotation {
    double cosine = 1;
    double sine = 0;
  };
  static void rotate(const Rotation& rotation, double& upper, double& lower) {
    const double turned = rotation.cosine * upper + rotation.sine * lower;
    lower = rotation.cosine * lower - rotation.sine * upper;
    upper = turned;
  }

  std::vector<std::vector<double>> columns_;
  std::vector<Rotation> rotations_;
  std::vector<double> right_;
};

/// Takes out of `vector` what lies in the basis. Twice is enough for all digits, and takes two
/// exchanges of sums, however many vectors there are.
std::vector<double> orthogonalise(const SolverTools& tools,
                                  const std::vector<Vector>& basis,
                                  Vector& vector) {
  std::vector<double> column(basis.size());
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<VectorPair> pairs;
    for (const Vector& one : basis)
      pairs.push_back({one, vector});
    const std::vector<double> parts = tools.products.of(pairs);
    for (std::size_t j = 0; j < basis.size(); ++j) {
      column[j] += parts[j];
      for (std::size_t i = 0; i < vector.size(); ++i)
        vector[i] -= parts[j] * basis[j][i];
    }
  }
  return column;
}

void scale(double factor, Vector& vector) {
  for (double& value : vector)
    value *= factor;
}

void precondition(const SolverTools& tools, Vector& vector) {
  const std::span<const double> inverse = tools.system.inverse_diagonal();
  for (std::size_t i = 0; i < vector.size(); ++i)
    vector[i] *= inverse[i];
}

/// values += M (weights . basis)
void add_correction(const SolverTools& tools,
                    const std::vector<Vector>& basis,
                    std::span<const double> weights,
                    std::span<double> values) {
  Vector correction(values.size());
  for (std::size_t j = 0; j < weights.size(); ++j) {
    for (std::size_t i = 0; i < correction.size(); ++i)
      correction[i] += weights[j] * basis[j][i];
  }
  precondition(tools, correction);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += correction[i];
}

}  // namespace

std::uint32_t improve_by_gmres(const SolverTools& tools,
                               KrylovGoal goal,
                               std::span<const double> residual,
                               std::span<double> values) {
  const double first = std::sqrt(tools.products.of(residual, residual));
  std::vector<Vector> basis{Vector(residual.begin(), residual.end())};
  scale(1 / first, basis.front());
  Triangle triangle(first);
  for (std::uint32_t done = 1;; ++done) {
    Vector direction = basis.back();
    precondition(tools, direction);
    Vector next(values.size());
    tools.system.multiply_free(direction, next);
    std::vector<double> column = orthogonalise(tools, basis, next);
    const double length = std::sqrt(tools.products.of(next, next));
    column.push_back(length);
    const double left = triangle.add(std::move(column));
    const bool goes_on = done < goal.iterations && left > goal.residual && length > 0;
    if (!goes_on) {
      add_correction(tools, basis, triangle.solve(), values);
      return done;
    }
    scale(1 / length, next);
    basis.push_back(std::move(next));
  }
}

}  // namespace forebay::flow
