// SPDX-License-Identifier: Apache-2.0
// Least and greatest value of an affine number over all repetitions of the loops around it, without
// enumerating them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "trace/signature.hpp"

namespace forebay::trace {

enum class Extreme : std::uint8_t { kLeast, kGreatest };

/// A bound of the values in all repetitions.
struct Bound {
  std::optional<std::int64_t> value;  ///< absent: beyond the numbers that can be computed
  LoopIndexes indexes = {};           ///< where the bound is reached
  /// False if a loop has no repetition there. Then the bound may be wider than all values.
  bool is_reached = true;
};

/// `counts` are those of the loops around the number, outermost first, each at least 1 somewhere.
/// The bound is exact if each of them is at least 1 in all repetitions of the loops around it.
Bound bound_of(const AffineNumber& number, std::span<const AffineNumber> counts, Extreme extreme);

/// a + scale * b; no value if a coefficient overflows.
std::optional<AffineNumber> add_scaled(AffineNumber a, std::int64_t scale, const AffineNumber& b);

}  // namespace forebay::trace
