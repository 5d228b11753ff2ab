// SPDX-License-Identifier: Apache-2.0
// Arrays of the C interface: pointers without sizes become shapes and memory ranges whose sizes are
// checked, and element types that are numbers become types of C++.
#pragma once

#include <forebay/access.hpp>
#include <forebay/element_type.hpp>
#include <forebay/part.hpp>
#include <forebay/range.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <forebay.h>

namespace forebay {

namespace bindings {
/// Bytes of a float16, for which C++20 has no type.
struct Float16 {
  std::uint16_t bits;
};
}  // namespace bindings

template <>
constexpr std::optional<ElementType> element_type_of<bindings::Float16>() noexcept {
  return ElementType::kFloat16;
}

namespace bindings {

/// The function that has an array as an argument, and the name of that.
struct ArrayArgument {
  const char* operation;
  const char* name;
};

/// The numbers of a C array. Refuses null, no dimensions, and more than 32.
Shape shape_of(const ArrayArgument& argument, const std::uint64_t* numbers, std::uint32_t count);

/// a + b. Refuses an overflow.
std::uint64_t sum_of(const char* operation, std::uint64_t a, std::uint64_t b);
/// Size of an array in bytes. Refuses an overflow.
std::uint64_t bytes_of(const char* operation, const Shape& shape, std::uint64_t element_bytes);

/// Memory of the program. Refuses null, unless it has no bytes.
std::span<std::byte> memory_of(const char* operation, void* data, std::uint64_t size_bytes);
std::span<const std::byte> memory_of(const char* operation,
                                     const void* data,
                                     std::uint64_t size_bytes);

std::optional<Access> access_of(const char* operation, int access);
ArrayOrder order_of(const char* operation, int order);
ElementType element_type_of_number(const char* operation, int type);

/// Memory as values of T.
template <class T, class Byte>
auto values_of(std::span<Byte> bytes) noexcept {
  using Value = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  return std::span<Value>(reinterpret_cast<Value*>(bytes.data()), bytes.size() / sizeof(T));
}

/// Calls `use.operator()<T>()` with the type of C++ for an element type.
template <class Use>
auto with_type(ElementType type, Use use) {
  switch (type) {
    case ElementType::kInt8:
      return use.template operator()<std::int8_t>();
    case ElementType::kInt16:
      return use.template operator()<std::int16_t>();
    case ElementType::kInt32:
      return use.template operator()<std::int32_t>();
    case ElementType::kInt64:
      return use.template operator()<std::int64_t>();
    case ElementType::kUint8:
      return use.template operator()<std::uint8_t>();
    case ElementType::kUint16:
      return use.template operator()<std::uint16_t>();
    case ElementType::kUint32:
      return use.template operator()<std::uint32_t>();
    case ElementType::kUint64:
      return use.template operator()<std::uint64_t>();
    case ElementType::kFloat16:
      return use.template operator()<Float16>();
    case ElementType::kFloat32:
      return use.template operator()<float>();
    case ElementType::kFloat64:
      return use.template operator()<double>();
    case ElementType::kComplex64:
      return use.template operator()<std::complex<float>>();
    case ElementType::kComplex128:
      return use.template operator()<std::complex<double>>();
    case ElementType::kBytes:
      break;
  }
  return use.template operator()<std::byte>();
}

}  // namespace bindings

}  // namespace forebay
