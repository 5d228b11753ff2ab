// SPDX-License-Identifier: Apache-2.0
// Compares the values of two rows, number by number. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cube/compare.hpp"
#include "cube/value_type.hpp"

namespace forebay::cube {

/// The difference of two values: that of their number that differs most.
struct ValueDifference {
  double a = 0;
  double b = 0;
  double absolute = 0;  ///< |a - b|
  double relative = 0;  ///< absolute divided by the larger of |a| and |b|
};

/// The types of both rows: equal, or both of one number.
struct ValueTypePair {
  ValueType a;
  ValueType b;
};

/// Compares one value; nullopt if both are equal.
std::optional<ValueDifference> compare_values(const ValueTypePair& types,
                                              const Tolerance& tolerance,
                                              std::span<const std::byte> a,
                                              std::span<const std::byte> b);

}  // namespace forebay::cube
