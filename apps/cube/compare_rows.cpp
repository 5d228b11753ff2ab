// SPDX-License-Identifier: Apache-2.0
#include "cube/compare_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace forebay::cube {

namespace {

/// If a number is not finite, neither is the difference.
ValueDifference difference_of(double a, double b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double absolute = std::abs(a - b);
  if (!std::isfinite(absolute)) return {a, b, kInfinity, kInfinity};
  const double larger = std::max(std::abs(a), std::abs(b));
  return {a, b, absolute, larger > 0 ? absolute / larger : 0};
}

bool is_within(const ValueDifference& difference, const Tolerance& tolerance) {
  if (!std::isfinite(difference.absolute)) return false;  // a fraction of infinity is infinity
  const double larger = std::max(std::abs(difference.a), std::abs(difference.b));
  return difference.absolute <= tolerance.absolute + tolerance.relative * larger;
}

/// A number in a value, and its type.
struct Number {
  Scalar scalar;
  std::span<const std::byte> bytes;
};

std::optional<ValueDifference> compare_numbers(const Number& a,
                                               const Number& b,
                                               const Tolerance& tolerance) {
  if (a.scalar == b.scalar && std::ranges::equal(a.bytes, b.bytes)) return std::nullopt;
  const double x = as_double(a.scalar, a.bytes);
  const double y = as_double(b.scalar, b.bytes);
  const bool is_exact = tolerance.absolute == 0 && tolerance.relative == 0;
  // Whole numbers over 2^53 may be equal as doubles only.
  const bool is_whole = a.scalar != Scalar::kF64 && a.scalar == b.scalar;
  if (is_exact && is_whole) return difference_of(x, y);
  if (x == y || (std::isnan(x) && std::isnan(y))) return std::nullopt;
  const ValueDifference difference = difference_of(x, y);
  if (is_within(difference, tolerance)) return std::nullopt;
  return difference;
}

void keep_larger(std::optional<ValueDifference>& kept,
                 const std::optional<ValueDifference>& other) {
  if (other && (!kept || !(other->absolute <= kept->absolute))) kept = other;
}

/// Values of several numbers. In SCALE_FUNC, their count may depend on the values.
std::optional<ValueDifference> compare_records(ValueType type,
                                               const Tolerance& tolerance,
                                               std::span<const std::byte> a,
                                               std::span<const std::byte> b) {
  std::optional<ValueDifference> worst;
  for (const ScalarRun& run : scalar_runs_of(type, a)) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const std::size_t width = size_of(run.scalar);
      keep_larger(worst, compare_numbers({run.scalar, a.first(width)}, {run.scalar, b.first(width)},
                                         tolerance));
      a = a.subspan(width);
      b = b.subspan(width);
    }
  }
  return worst;
}

Scalar scalar_of(ValueType type) { return scalar_runs_of(type, {}).front().scalar; }

}  // namespace

std::optional<ValueDifference> compare_values(const ValueTypePair& types,
                                              const Tolerance& tolerance,
                                              std::span<const std::byte> a,
                                              std::span<const std::byte> b) {
  if (types.a.is_scalar()) {
    return compare_numbers({scalar_of(types.a), a}, {scalar_of(types.b), b}, tolerance);
  }
  return compare_records(types.a, tolerance, a, b);
}

}  // namespace forebay::cube
