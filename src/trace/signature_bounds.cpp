// SPDX-License-Identifier: Apache-2.0
// Eliminates one loop variable after the other, innermost first. A linear function is extreme at an
// end of an interval, so a variable is replaced by 0 or by count - 1, which is again affine in the
// outer variables. Banerjee, Dependence Analysis for Supercomputing (1988): extreme values over
// trapezoidal loops.
#include "trace/signature_bounds.hpp"

#include <array>

namespace forebay::trace {

namespace {

/// For each loop: true if the extreme is in its last repetition, false if in its first.
using AtLast = std::array<bool, kLoopDepthMax>;

/// Replaces the variable of the loop at `depth`.
std::optional<AffineNumber> replace_variable(AffineNumber number,
                                             std::size_t depth,
                                             const AffineNumber& replacement) {
  const std::int64_t factor = number.factors[depth];
  number.factors[depth] = 0;
  return add_scaled(number, factor, replacement);
}

void set_indexes(Bound& bound, std::span<const AffineNumber> counts, const AtLast& at_last) {
  for (std::size_t depth = 0; depth < counts.size(); ++depth) {
    const std::int64_t count = counts[depth].at(bound.indexes);
    if (count <= 0) bound.is_reached = false;
    bound.indexes[depth] = at_last[depth] && count > 0 ? count - 1 : 0;
  }
}

}  // namespace

std::optional<AffineNumber> add_scaled(AffineNumber a, std::int64_t scale, const AffineNumber& b) {
  const auto add = [scale](std::int64_t& sum, std::int64_t value) {
    std::int64_t product = 0;
    return !__builtin_mul_overflow(scale, value, &product) &&
           !__builtin_add_overflow(sum, product, &sum);
  };
  if (!add(a.constant, b.constant)) return std::nullopt;
  for (std::size_t depth = 0; depth < kLoopDepthMax; ++depth)
    if (!add(a.factors[depth], b.factors[depth])) return std::nullopt;
  return a;
}

Bound bound_of(const AffineNumber& number, std::span<const AffineNumber> counts, Extreme extreme) {
  AtLast at_last = {};
  std::optional<AffineNumber> rest = number;
  for (std::size_t depth = counts.size(); rest && depth-- > 0;) {
    const std::int64_t factor = rest->factors[depth];
    at_last[depth] = extreme == Extreme::kGreatest ? factor > 0 : factor < 0;
    auto replacement = std::optional(AffineNumber{});
    if (at_last[depth]) replacement = add_scaled({.constant = -1}, 1, counts[depth]);
    rest = replacement ? replace_variable(*rest, depth, *replacement) : std::nullopt;
  }
  Bound bound;
  if (rest) bound.value = rest->constant;
  set_indexes(bound, counts, at_last);
  return bound;
}

}  // namespace forebay::trace
