// SPDX-License-Identifier: Apache-2.0
// The problem: the coefficients of du/dt + b . grad u - k lap u = f, and where u is given.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <string_view>

#include "flow/mesh_part.hpp"

namespace forebay::flow {

enum class Symmetry : std::uint8_t { kSymmetric, kGeneral };

/// Pure functions of position and time, so that each rank gets the same values.
class Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  virtual ~Problem() = default;

  /// kSymmetric requires that velocity() is zero.
  virtual Symmetry symmetry() const = 0;
  virtual double diffusivity() const = 0;
  virtual Point velocity(const Point& place, double time) const = 0;
  virtual double source(const Point& place, double time) const = 0;
  virtual double initial_value(const Point& place) const = 0;
  /// Whether u is given at nodes with this marker.
  virtual bool is_dirichlet(BoundaryMarker mark) const = 0;
  virtual double dirichlet_value(const Point& place, double time) const = 0;
};

enum class ProblemKind : std::uint8_t { kDiffusion, kAdvection };

std::string_view name_of(ProblemKind kind);
std::unique_ptr<Problem> make_problem(ProblemKind kind);

}  // namespace forebay::flow
