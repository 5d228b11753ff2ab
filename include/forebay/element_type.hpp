// SPDX-License-Identifier: Apache-2.0
// ElementType: the type of one element of a stored array. The numbers are those of the dataset
// format, so put() and the index need no conversion.
#pragma once

#include <forebay/range.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string_view>
#include <type_traits>

namespace forebay {

enum class ElementType : std::uint8_t {
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kUint8 = 5,
  kUint16 = 6,
  kUint32 = 7,
  kUint64 = 8,
  kFloat16 = 9,
  kFloat32 = 10,
  kFloat64 = 11,
  kComplex64 = 12,   ///< two float32
  kComplex128 = 13,  ///< two float64
  kBytes = 14,       ///< untyped; an element is one byte
};

inline constexpr std::uint8_t kElementTypeMin = 1;
inline constexpr std::uint8_t kElementTypeMax = 14;

/// Byte order of a number.
enum class ByteOrder : std::uint8_t { kLittle = 0, kBig = 1 };

/// Size of one element in bytes.
constexpr std::size_t element_size(ElementType type) noexcept {
  constexpr std::uint8_t kBytes[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16, 1};
  return kBytes[static_cast<std::uint8_t>(type)];
}

/// "int8" ... "complex128", "bytes": as printed and as written to JSON.
constexpr std::string_view name_of(ElementType type) noexcept {
  constexpr std::string_view kNames[] = {"",        "int8",    "int16",     "int32",      "int64",
                                         "uint8",   "uint16",  "uint32",    "uint64",     "float16",
                                         "float32", "float64", "complex64", "complex128", "bytes"};
  return kNames[static_cast<std::uint8_t>(type)];
}

/// The type with this name; no value for an unknown name.
constexpr std::optional<ElementType> parse_element_type(std::string_view name) noexcept {
  for (std::uint8_t number = kElementTypeMin; number <= kElementTypeMax; ++number)
    if (name_of(static_cast<ElementType>(number)) == name) return static_cast<ElementType>(number);
  return std::nullopt;
}

/// "little" or "big".
constexpr std::string_view name_of(ByteOrder order) noexcept {
  return order == ByteOrder::kBig ? "big" : "little";
}

namespace detail {
template <class T>
constexpr std::optional<ElementType> integer_type() noexcept {
  constexpr auto kFirst = std::is_signed_v<T> ? ElementType::kInt8 : ElementType::kUint8;
  const auto number = static_cast<std::uint8_t>(kFirst);
  if (sizeof(T) == 1) return static_cast<ElementType>(number);
  if (sizeof(T) == 2) return static_cast<ElementType>(number + 1);
  if (sizeof(T) == 4) return static_cast<ElementType>(number + 2);
  return static_cast<ElementType>(number + 3);
}
}  // namespace detail

/// The element type of a C++ type; no value if it has none. `char` is kInt8 on all platforms.
template <class T>
constexpr std::optional<ElementType> element_type_of() noexcept {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Plain, std::byte>) {
    return ElementType::kBytes;
  } else if constexpr (std::is_same_v<Plain, bool>) {
    return std::nullopt;
  } else if constexpr (std::is_same_v<Plain, char>) {
    return ElementType::kInt8;
  } else if constexpr (std::is_integral_v<Plain> && sizeof(Plain) <= 8) {
    return detail::integer_type<Plain>();
  } else if constexpr (std::is_same_v<Plain, float>) {
    return ElementType::kFloat32;
  } else if constexpr (std::is_same_v<Plain, double>) {
    return ElementType::kFloat64;
  } else if constexpr (std::is_same_v<Plain, std::complex<float>>) {
    return ElementType::kComplex64;
  } else if constexpr (std::is_same_v<Plain, std::complex<double>>) {
    return ElementType::kComplex128;
  } else {
    return std::nullopt;
  }
}

/// A ReadableRange whose values have an element type.
template <class R>
concept ElementRange =
    ReadableRange<R> && element_type_of<std::ranges::range_value_t<R>>().has_value();

}  // namespace forebay
