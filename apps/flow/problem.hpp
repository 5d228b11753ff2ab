// SPDX-License-Identifier: Apache-2.0
// What is computed: the coefficients of du/dt + b . grad u - k lap u = f, and where u is given.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <string_view>

#include "flow/part.hpp"

namespace forebay::flow {

enum class Symmetry : std::uint8_t { kSymmetric, kGeneral };

/// Functions of place and time without memory, so that each rank gets the same values.
class Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  virtual ~Problem() = default;

  /// Symmetric promises that velocity() is zero.
  virtual Symmetry symmetry() const = 0;
  virtual double diffusivity() const = 0;
  virtual Point velocity(const Point& place, double time) const = 0;
  virtual double source(const Point& place, double time) const = 0;
  virtual double initial(const Point& place) const = 0;
  /// Whether u is given at nodes of this mark.
  virtual bool is_fixed(Mark mark) const = 0;
  virtual double fixed_value(const Point& place, double time) const = 0;
};

enum class ProblemKind : std::uint8_t { kDiffusion, kAdvection };

std::string_view name_of(ProblemKind kind);
std::unique_ptr<Problem> make_problem(ProblemKind kind);

}  // namespace forebay::flow
