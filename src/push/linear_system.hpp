// SPDX-License-Identifier: Apache-2.0
// LinearSystem: linear equations with integer coefficients, which arrive one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "push/parametric_signature.hpp"

namespace forebay::push {

/// One thread at a time. Exact; numbers beyond 128 bits count as a contradiction.
class LinearSystem {
 public:
  __extension__ using Wide = __int128;
  /// [0]: the constant; others: coefficients of the unknowns.
  using Form = std::array<Wide, kProductsMax + 1>;

  /// Adds the equation form = 0. Returns false, and adds nothing, if it contradicts the others.
  bool add(const Form& form);
  /// The value of the form, if the equations determine it and it is an integer of 64 bits.
  std::optional<std::int64_t> value_of(const Form& form) const;
  /// Number of independent equations.
  std::size_t rank() const noexcept { return rows_.size(); }
  void clear() noexcept { rows_.clear(); }

 private:
  struct Row {
    Form form;
    std::size_t pivot;  ///< an unknown that earlier rows do not have as theirs
  };
  struct Scaled {
    Form form;
    Wide scale;  ///< form / scale is the value
  };
  std::optional<Scaled> reduce(const Form& form) const;

  std::vector<Row> rows_;
};

}  // namespace forebay::push
