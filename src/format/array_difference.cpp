// SPDX-License-Identifier: Apache-2.0
#include "format/array_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/assert.hpp"

namespace forebay::format {
namespace {

/// Size of the largest element.
using ElementBytes = std::array<std::byte, 16>;

template <class Number>
Number load_value(const ElementBytes& bytes, std::size_t at = 0) noexcept {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

template <class Number>
double as_double(const ElementBytes& bytes, std::size_t at = 0) noexcept {
  return static_cast<double>(load_value<Number>(bytes, at));
}

/// IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits.
double decode_binary16(const ElementBytes& bytes) noexcept {
  const auto bits = static_cast<unsigned>(as_double<std::uint16_t>(bytes));
  const int exponent = static_cast<int>(bits >> 10U & 0x1fU);
  const double fraction = bits & 0x3ffU;
  double value = std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 0) value = std::ldexp(fraction, -24);
  if (exponent == 31)
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  return (bits & 0x8000U) != 0 ? -value : value;
}

/// Unit of byte order: the two components of a complex number are reversed separately.
std::size_t component_bytes(ElementType type) noexcept {
  const bool is_complex = type == ElementType::kComplex64 || type == ElementType::kComplex128;
  return is_complex ? element_size(type) / 2 : element_size(type);
}

/// The element in the byte order of this machine.
ElementBytes native_element(ElementType type,
                            ByteOrder order,
                            std::span<const std::byte> bytes) noexcept {
  FOREBAY_ASSERT(bytes.size() == element_size(type));
  ElementBytes element = {};
  std::ranges::copy(bytes, element.begin());
  if (order == ByteOrder::kBig)
    for (std::size_t at = 0; at < bytes.size(); at += component_bytes(type))
      std::reverse(element.data() + at, element.data() + at + component_bytes(type));
  return element;
}

std::complex<double> decode_element(ElementType type, const ElementBytes& element) noexcept {
  switch (type) {
    case ElementType::kInt8:
      return as_double<std::int8_t>(element);
    case ElementType::kInt16:
      return as_double<std::int16_t>(element);
    case ElementType::kInt32:
      return as_double<std::int32_t>(element);
    case ElementType::kInt64:
      return as_double<std::int64_t>(element);
    case ElementType::kUint16:
      return as_double<std::uint16_t>(element);
    case ElementType::kUint32:
      return as_double<std::uint32_t>(element);
    case ElementType::kUint64:
      return as_double<std::uint64_t>(element);
    case ElementType::kFloat16:
      return decode_binary16(element);
    case ElementType::kFloat32:
      return as_double<float>(element);
    case ElementType::kFloat64:
      return as_double<double>(element);
    case ElementType::kComplex64:
      return {as_double<float>(element), as_double<float>(element, 4)};
    case ElementType::kComplex128:
      return {as_double<double>(element), as_double<double>(element, 8)};
    case ElementType::kUint8:
    case ElementType::kBytes:
      break;
  }
  return as_double<std::uint8_t>(element);
}

/// |left - right|: an unsigned 64-bit number holds it for any two integers.
template <class Integer>
double exact_distance(const ElementBytes& left, const ElementBytes& right) noexcept {
  const auto [less, more] = std::minmax({load_value<Integer>(left), load_value<Integer>(right)});
  return static_cast<double>(static_cast<std::uint64_t>(more) - static_cast<std::uint64_t>(less));
}

double distance(ElementType type, const ElementBytes& left, const ElementBytes& right) noexcept {
  // As doubles, adjacent numbers above 2^53 would be equal.
  if (type == ElementType::kInt64) return exact_distance<std::int64_t>(left, right);
  if (type == ElementType::kUint64) return exact_distance<std::uint64_t>(left, right);
  return std::abs(decode_element(type, left) - decode_element(type, right));
}

bool is_number(std::complex<double> number) noexcept {
  return !std::isnan(number.real()) && !std::isnan(number.imag());
}

void merge_difference(ArrayDifference& difference,
                      ElementType type,
                      const ElementBytes& one,
                      const ElementBytes& other) noexcept {
  const std::complex<double> left = decode_element(type, one);
  const std::complex<double> right = decode_element(type, other);
  double absolute = distance(type, one, other);
  // Infinity minus infinity is NaN, which is not greater than 0.
  const bool is_same = left == right && !(absolute > 0);
  if (is_same || (!is_number(left) && !is_number(right))) return;
  double relative = absolute / std::max(std::abs(left), std::abs(right));
  // Infinity against a number, or a number against NaN.
  if (!std::isfinite(absolute)) absolute = std::numeric_limits<double>::infinity();
  if (!std::isfinite(relative)) relative = std::numeric_limits<double>::infinity();
  difference.absolute_max = std::max(difference.absolute_max, absolute);
  difference.relative_max = std::max(difference.relative_max, relative);
}

}  // namespace

std::complex<double> decode_element(ElementType type,
                                    ByteOrder order,
                                    std::span<const std::byte> bytes) noexcept {
  return decode_element(type, native_element(type, order, bytes));
}

ArrayDifference compare_elements(ElementType type,
                                 ByteOrder order,
                                 std::span<const std::byte> left,
                                 std::span<const std::byte> right) noexcept {
  FOREBAY_ASSERT(left.size() == right.size());
  ArrayDifference difference;
  if (left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0) return difference;
  const std::size_t bytes = element_size(type);
  for (std::size_t at = 0; at < left.size(); at += bytes) {
    const auto one = left.subspan(at, bytes);
    const auto other = right.subspan(at, bytes);
    if (std::ranges::equal(one, other)) continue;
    if (difference.elements++ == 0) difference.first_element = at / bytes;
    merge_difference(difference, type, native_element(type, order, one),
                     native_element(type, order, other));
  }
  return difference;
}

}  // namespace forebay::format
