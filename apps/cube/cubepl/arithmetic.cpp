// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/arithmetic.hpp"

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace forebay::cubepl {
namespace {

// Conditional expressions instead of branches, so that loops over rows are vectorized.
double multiply(double a, double b) {
  double product = a * b;
  product = product > DBL_MAX ? DBL_MAX : product;
  product = product < -DBL_MAX ? -DBL_MAX : product;
  return a == 0 ? 0 : product;
}

double divide(double a, double b) {
  const double most = a > 0 ? DBL_MAX : -DBL_MAX;
  const double quotient = b == 0 ? most : a / b;
  return a == 0 ? 0 : quotient;
}

double square_root(double a) { return a >= 0 ? std::sqrt(a) : 0; }

double logarithm(double a) {
  if (a > 0) return std::log(a);
  return a == 0 ? -DBL_MAX : 0;
}

double sign(double a) { return a < 0 ? -1 : a > 0 ? 1 : 0; }

double truth(bool condition) { return condition ? 1 : 0; }

template <class Function>
Lanes map(const Function& function, Lanes operand, std::size_t count, Scratch& scratch) {
  if (operand.is_uniform()) return Lanes(function(operand.number()));
  const double* const from = operand.numbers();
  Scratch::Row row = operand.owns_row() ? operand.take_row() : scratch.acquire();
  double* const to = row.data();
  for (std::size_t i = 0; i < count; ++i)
    to[i] = function(from[i]);
  return Lanes(std::move(row));
}

/// Specialized for rows, so that each loop reads plain arrays. An operand's own row is reused for
/// the result.
template <class Function>
Lanes map(const Function& function, Lanes left, Lanes right, std::size_t count, Scratch& scratch) {
  if (left.is_uniform() && right.is_uniform())
    return Lanes(function(left.number(), right.number()));
  const double* const a = left.numbers();
  const double* const b = right.numbers();
  Scratch::Row row = left.owns_row()    ? left.take_row()
                     : right.owns_row() ? right.take_row()
                                        : scratch.acquire();
  double* const to = row.data();
  if (a == nullptr) {
    const double number = left.number();
    for (std::size_t i = 0; i < count; ++i)
      to[i] = function(number, b[i]);
  } else if (b == nullptr) {
    const double number = right.number();
    for (std::size_t i = 0; i < count; ++i)
      to[i] = function(a[i], number);
  } else {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = function(a[i], b[i]);
  }
  return Lanes(std::move(row));
}

template <class Change>
std::string transform_text(std::string_view text, const Change& change) {
  std::string result(text);
  for (char& c : result)
    c = change(c);
  return result;
}

}  // namespace

double parse_number(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\r\v\f");
  if (begin == std::string_view::npos) return 0;
  text.remove_prefix(begin);
  if (text.front() == '+') text.remove_prefix(1);
  // "inf" and "nan" are words in CubePL, not numbers.
  const std::size_t digits = text.find_first_not_of('-');
  if (digits == std::string_view::npos || digits > 1) return 0;
  if (text[digits] != '.' && (text[digits] < '0' || text[digits] > '9')) return 0;
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string format_number(double number) { return fmt::format("{:.14g}", number); }

std::string to_lower(std::string_view text) {
  return transform_text(
      text, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}

std::string to_upper(std::string_view text) {
  return transform_text(
      text, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
}

Lanes apply(Op op, Lanes operand, std::size_t count, Scratch& scratch) {
  const auto with = [&](const auto& function) {
    return map(function, std::move(operand), count, scratch);
  };
  switch (op) {
    case Op::kNot:
      return with([](double a) { return truth(a == 0); });
    case Op::kNegate:
      return with([](double a) { return -a; });
    case Op::kAbsolute:
      return with([](double a) { return std::fabs(a); });
    case Op::kSquareRoot:
      return with(square_root);
    case Op::kExponential:
      return with([](double a) { return std::exp(a); });
    case Op::kLogarithm:
      return with(logarithm);
    case Op::kSine:
      return with([](double a) { return std::sin(a); });
    case Op::kCosine:
      return with([](double a) { return std::cos(a); });
    case Op::kTangent:
      return with([](double a) { return std::tan(a); });
    case Op::kArcSine:
      return with([](double a) { return std::asin(a); });
    case Op::kArcCosine:
      return with([](double a) { return std::acos(a); });
    case Op::kArcTangent:
      return with([](double a) { return std::atan(a); });
    case Op::kFloor:
      return with([](double a) { return std::floor(a); });
    case Op::kCeiling:
      return with([](double a) { return std::ceil(a); });
    case Op::kSign:
      return with(sign);
    case Op::kPositive:
      return with([](double a) { return a >= 0 ? a : 0; });
    case Op::kNegative:
      return with([](double a) { return a < 0 ? a : 0; });
    default:
      return Lanes(std::nan(""));
  }
}

Lanes apply(Op op, Lanes left, Lanes right, std::size_t count, Scratch& scratch) {
  const auto with = [&](const auto& function) {
    return map(function, std::move(left), std::move(right), count, scratch);
  };
  switch (op) {
    case Op::kAdd:
      return with([](double a, double b) { return a + b; });
    case Op::kSubtract:
      return with([](double a, double b) { return a - b; });
    case Op::kMultiply:
      return with(multiply);
    case Op::kDivide:
      return with(divide);
    case Op::kPower:
      return with([](double a, double b) { return std::pow(a, b); });
    case Op::kMinimum:
      return with([](double a, double b) { return b < a ? b : a; });
    case Op::kMaximum:
      return with([](double a, double b) { return a < b ? b : a; });
    case Op::kEqual:
      return with([](double a, double b) { return truth(a == b); });
    case Op::kNotEqual:
      return with([](double a, double b) { return truth(a != b); });
    case Op::kLess:
      return with([](double a, double b) { return truth(a < b); });
    case Op::kLessEqual:
      return with([](double a, double b) { return truth(a <= b); });
    case Op::kGreater:
      return with([](double a, double b) { return truth(a > b); });
    case Op::kGreaterEqual:
      return with([](double a, double b) { return truth(a >= b); });
    case Op::kAnd:
      return with([](double a, double b) { return truth(a != 0 && b != 0); });
    case Op::kOr:
      return with([](double a, double b) { return truth(a != 0 || b != 0); });
    case Op::kXor:
      return with([](double a, double b) { return truth((a != 0) != (b != 0)); });
    default:
      return Lanes(std::nan(""));
  }
}

Lanes blend(const Lanes& mask,
            const Lanes& chosen,
            const Lanes& other,
            std::size_t count,
            Scratch& scratch) {
  if (mask.is_uniform()) return mask.number() != 0 ? chosen.view() : other.view();
  Scratch::Row row = scratch.acquire();
  double* const to = row.data();
  for (std::size_t i = 0; i < count; ++i)
    to[i] = mask[i] != 0 ? chosen[i] : other[i];
  return Lanes(std::move(row));
}

Lanes copy_lanes(const Lanes& lanes, std::size_t count, Scratch& scratch) {
  if (lanes.is_uniform()) return Lanes(lanes.number());
  Scratch::Row row = scratch.acquire();
  std::copy_n(lanes.numbers(), count, row.data());
  return Lanes(std::move(row));
}

bool any_nonzero(const Lanes& lanes, std::size_t count) {
  if (lanes.is_uniform()) return lanes.number() != 0;
  for (std::size_t i = 0; i < count; ++i)
    if (lanes[i] != 0) return true;
  return false;
}

}  // namespace forebay::cubepl
