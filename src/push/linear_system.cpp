// SPDX-License-Identifier: Apache-2.0
// Elimination without fractions. Rows stay in the order of their arrival: each has zeros at the
// pivots of those before it, so one pass in this order reduces a form.
#include "push/linear_system.hpp"

#include <algorithm>
#include <limits>

namespace forebay::push {

namespace {

using Wide = LinearSystem::Wide;

Wide magnitude_of(Wide number) { return number < 0 ? -number : number; }

Wide gcd_of(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return magnitude_of(a);
}

/// a * b - c * d in `result`. False if it overflows.
bool cross(Wide a, Wide b, Wide c, Wide d, Wide& result) {
  Wide left = 0;
  Wide right = 0;
  return !__builtin_mul_overflow(a, b, &left) && !__builtin_mul_overflow(c, d, &right) &&
         !__builtin_sub_overflow(left, right, &result);
}

std::size_t pivot_of(const LinearSystem::Form& form) {
  const auto* const found =
      std::find_if(form.begin() + 1, form.end(), [](Wide one) { return one != 0; });
  return static_cast<std::size_t>(found - form.begin());
}

}  // namespace

std::optional<LinearSystem::Scaled> LinearSystem::reduce(const Form& form) const {
  Scaled left{form, 1};
  for (const Row& row : rows_) {
    const Wide factor = left.form[row.pivot];
    if (factor == 0) continue;
    const Wide scale = row.form[row.pivot];
    for (std::size_t i = 0; i < form.size(); ++i)
      if (!cross(left.form[i], scale, row.form[i], factor, left.form[i])) return std::nullopt;
    if (__builtin_mul_overflow(left.scale, scale, &left.scale)) return std::nullopt;
    Wide common = left.scale;
    for (const Wide one : left.form)
      common = gcd_of(common, one);
    for (Wide& one : left.form)
      one /= common;
    left.scale /= common;
  }
  return left;
}

bool LinearSystem::add(const Form& form) {
  const auto left = reduce(form);
  if (!left) return false;
  const std::size_t pivot = pivot_of(left->form);
  if (pivot == form.size()) return left->form[0] == 0;
  rows_.push_back({left->form, pivot});
  return true;
}

std::optional<std::int64_t> LinearSystem::value_of(const Form& form) const {
  const auto left = reduce(form);
  if (!left || pivot_of(left->form) != form.size() || left->form[0] % left->scale != 0)
    return std::nullopt;
  const Wide value = left->form[0] / left->scale;
  if (value < std::numeric_limits<std::int64_t>::min() ||
      value > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace forebay::push
