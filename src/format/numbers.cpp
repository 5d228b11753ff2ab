// SPDX-License-Identifier: Apache-2.0
#include "format/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/assert.hpp"

namespace forebay::format {
namespace {

/// Room for the largest element.
using Element = std::array<std::byte, 16>;

template <class Number>
Number value_of(const Element& bytes, std::size_t at = 0) noexcept {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

template <class Number>
double as(const Element& bytes, std::size_t at = 0) noexcept {
  return static_cast<double>(value_of<Number>(bytes, at));
}

/// IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction.
double half(const Element& bytes) noexcept {
  const auto bits = static_cast<unsigned>(as<std::uint16_t>(bytes));
  const int exponent = static_cast<int>(bits >> 10U & 0x1fU);
  const double fraction = bits & 0x3ffU;
  double value = std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 0) value = std::ldexp(fraction, -24);
  if (exponent == 31)
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  return (bits & 0x8000U) != 0 ? -value : value;
}

/// The parts of a complex number are turned each for itself.
std::size_t unit_bytes(ElementType type) noexcept {
  const bool is_complex = type == ElementType::kComplex64 || type == ElementType::kComplex128;
  return is_complex ? bytes_of(type) / 2 : bytes_of(type);
}

/// In the byte order of this machine.
Element element_of(ElementType type, ByteOrder order, std::span<const std::byte> bytes) noexcept {
  FOREBAY_ASSERT(bytes.size() == bytes_of(type));
  Element element = {};
  std::ranges::copy(bytes, element.begin());
  if (order == ByteOrder::kBig)
    for (std::size_t at = 0; at < bytes.size(); at += unit_bytes(type))
      std::reverse(element.data() + at, element.data() + at + unit_bytes(type));
  return element;
}

std::complex<double> number_of(ElementType type, const Element& element) noexcept {
  switch (type) {
    case ElementType::kInt8:
      return as<std::int8_t>(element);
    case ElementType::kInt16:
      return as<std::int16_t>(element);
    case ElementType::kInt32:
      return as<std::int32_t>(element);
    case ElementType::kInt64:
      return as<std::int64_t>(element);
    case ElementType::kUint16:
      return as<std::uint16_t>(element);
    case ElementType::kUint32:
      return as<std::uint32_t>(element);
    case ElementType::kUint64:
      return as<std::uint64_t>(element);
    case ElementType::kFloat16:
      return half(element);
    case ElementType::kFloat32:
      return as<float>(element);
    case ElementType::kFloat64:
      return as<double>(element);
    case ElementType::kComplex64:
      return {as<float>(element), as<float>(element, 4)};
    case ElementType::kComplex128:
      return {as<double>(element), as<double>(element, 8)};
    case ElementType::kUint8:
    case ElementType::kBytes:
      break;
  }
  return as<std::uint8_t>(element);
}

/// |left - right|: 64 bits without a sign hold it for any two integers.
template <class Integer>
double exact_distance(const Element& left, const Element& right) noexcept {
  const auto [less, more] = std::minmax({value_of<Integer>(left), value_of<Integer>(right)});
  return static_cast<double>(static_cast<std::uint64_t>(more) - static_cast<std::uint64_t>(less));
}

double distance(ElementType type, const Element& left, const Element& right) noexcept {
  // As doubles, neighbours beyond 2^53 would be the same.
  if (type == ElementType::kInt64) return exact_distance<std::int64_t>(left, right);
  if (type == ElementType::kUint64) return exact_distance<std::uint64_t>(left, right);
  return std::abs(number_of(type, left) - number_of(type, right));
}

bool is_number(std::complex<double> number) noexcept {
  return !std::isnan(number.real()) && !std::isnan(number.imag());
}

void take_in(NumberDifference& difference,
             ElementType type,
             const Element& one,
             const Element& other) noexcept {
  const std::complex<double> left = number_of(type, one);
  const std::complex<double> right = number_of(type, other);
  double absolute = distance(type, one, other);
  // Infinity less infinity is no number, and not greater than 0.
  const bool is_same = left == right && !(absolute > 0);
  if (is_same || (!is_number(left) && !is_number(right))) return;
  double relative = absolute / std::max(std::abs(left), std::abs(right));
  // Infinity against a number, or a number against none.
  if (!std::isfinite(absolute)) absolute = std::numeric_limits<double>::infinity();
  if (!std::isfinite(relative)) relative = std::numeric_limits<double>::infinity();
  difference.absolute_max = std::max(difference.absolute_max, absolute);
  difference.relative_max = std::max(difference.relative_max, relative);
}

}  // namespace

std::complex<double> number_of(ElementType type,
                               ByteOrder order,
                               std::span<const std::byte> bytes) noexcept {
  return number_of(type, element_of(type, order, bytes));
}

NumberDifference compare(ElementType type,
                         ByteOrder order,
                         std::span<const std::byte> left,
                         std::span<const std::byte> right) noexcept {
  FOREBAY_ASSERT(left.size() == right.size());
  NumberDifference difference;
  if (left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0) return difference;
  const std::size_t bytes = bytes_of(type);
  for (std::size_t at = 0; at < left.size(); at += bytes) {
    const auto one = left.subspan(at, bytes);
    const auto other = right.subspan(at, bytes);
    if (std::ranges::equal(one, other)) continue;
    if (difference.elements++ == 0) difference.first_element = at / bytes;
    take_in(difference, type, element_of(type, order, one), element_of(type, order, other));
  }
  return difference;
}

}  // namespace forebay::format
