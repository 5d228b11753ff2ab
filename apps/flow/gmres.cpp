// SPDX-License-Identifier: Apache-2.0
// A GMRES cycle, for any matrix: minimizes the residual over a given number of products.
#include <cmath>
#include <vector>

#include "flow/krylov.hpp"

namespace forebay::flow {

namespace {

/// The small least-squares problem of GMRES, kept triangular by Givens rotations.
class GivensLeastSquares {
 public:
  explicit GivensLeastSquares(double first) : right_{first} {}

  /// Adds a column: its entries down to the one below the diagonal. Returns the norm of the
  /// remaining residual.
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
    const double rotated = rotation.cosine * upper + rotation.sine * lower;
    lower = rotation.cosine * lower - rotation.sine * upper;
    upper = rotated;
  }

  std::vector<std::vector<double>> columns_;
  std::vector<Rotation> rotations_;
  std::vector<double> right_;
};

/// Removes from `vector` its components in the basis. Two passes give full precision and take two
/// collective sums, for any number of vectors.
std::vector<double> orthogonalize(const SolverContext& context,
                                  const std::vector<Vector>& basis,
                                  Vector& vector) {
  std::vector<double> column(basis.size());
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<VectorPair> pairs;
    for (const Vector& one : basis)
      pairs.push_back({one, vector});
    const std::vector<double> parts = context.products.compute(pairs);
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

void precondition(const SolverContext& context, Vector& vector) {
  const std::span<const double> inverse = context.system.inverse_diagonal();
  for (std::size_t i = 0; i < vector.size(); ++i)
    vector[i] *= inverse[i];
}

/// values += M (weights . basis)
void add_correction(const SolverContext& context,
                    const std::vector<Vector>& basis,
                    std::span<const double> weights,
                    std::span<double> values) {
  Vector correction(values.size());
  for (std::size_t j = 0; j < weights.size(); ++j) {
    for (std::size_t i = 0; i < correction.size(); ++i)
      correction[i] += weights[j] * basis[j][i];
  }
  precondition(context, correction);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += correction[i];
}

}  // namespace

std::uint32_t run_gmres_cycle(const SolverContext& context,
                              StoppingCriteria criteria,
                              std::span<const double> residual,
                              std::span<double> values) {
  const double first = std::sqrt(context.products.compute(residual, residual));
  std::vector<Vector> basis{Vector(residual.begin(), residual.end())};
  scale(1 / first, basis.front());
  GivensLeastSquares least_squares(first);
  for (std::uint32_t done = 1;; ++done) {
    Vector direction = basis.back();
    precondition(context, direction);
    Vector next(values.size());
    context.system.multiply_free(direction, next);
    std::vector<double> column = orthogonalize(context, basis, next);
    const double length = std::sqrt(context.products.compute(next, next));
    column.push_back(length);
    const double residual_norm = least_squares.add(std::move(column));
    const bool is_continued =
        done < criteria.iterations && residual_norm > criteria.residual && length > 0;
    if (!is_continued) {
      add_correction(context, basis, least_squares.solve(), values);
      return done;
    }
    scale(1 / length, next);
    basis.push_back(std::move(next));
  }
}

}  // namespace forebay::flow
