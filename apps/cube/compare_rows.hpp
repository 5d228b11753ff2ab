// SPDX-License-Identifier: Apache-2.0
// The second half of comparing profiles: the values of two rows, number by number. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cube/compare.hpp"
#include "cube/value_type.hpp"

namespace forebay::cube {

/// How two values differ, by the number in them that differs most.
struct ValueDifference {
  double a = 0;
  double b = 0;
  double absolute = 0;  ///< |a - b|
  double relative = 0;  ///< that, divided by the larger of |a| and |b|
};

/// The types of both rows: the same, or both of one number.
struct ComparedTypes {
  ValueType a;
  ValueType b;
};

/// Compares one value; nullopt if they are the same.
std::optional<ValueDifference> compare_values(const ComparedTypes& types,
                                              const Tolerance& tolerance,
                                              std::span<const std::byte> a,
                                              std::span<const std::byte> b);

}  // namespace forebay::cube
