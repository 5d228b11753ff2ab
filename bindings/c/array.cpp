// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/array.hpp"

#include <string>

#include "bindings/c/call.hpp"

namespace forebay::bindings {

namespace {

constexpr std::uint32_t kDimensionsMax = 32;

}  // namespace

Shape shape_of(const ArrayArgument& argument, const std::uint64_t* numbers, std::uint32_t count) {
  if (count == 0 || count > kDimensionsMax)
    refuse_argument(argument.operation, "dimensions is " + std::to_string(count) +
                                            ", it must be from 1 to " +
                                            std::to_string(kDimensionsMax));
  if (numbers == nullptr)
    refuse_argument(argument.operation, std::string(argument.name) + " is NULL");
  return {numbers, numbers + count};
}

std::uint64_t sum_of(const char* operation, std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    refuse_argument(operation, "the sizes of the ranges exceed 2^64 bytes");
  return sum;
}

std::uint64_t bytes_of(const char* operation, const Shape& shape, std::uint64_t element_bytes) {
  std::uint64_t bytes = element_bytes;
  for (const std::uint64_t count : shape)
    if (__builtin_mul_overflow(bytes, count, &bytes))
      refuse_argument(operation, "the counts exceed 2^64 bytes");
  return bytes;
}

std::span<std::byte> memory_of(const char* operation, void* data, std::uint64_t size_bytes) {
  if (data == nullptr && size_bytes > 0)
    refuse_argument(operation, "the memory for " + std::to_string(size_bytes) + " bytes is NULL");
  return {static_cast<std::byte*>(data), size_bytes};
}

std::span<const std::byte> memory_of(const char* operation,
                                     const void* data,
                                     std::uint64_t size_bytes) {
  return memory_of(operation, const_cast<void*>(data), size_bytes);
}

std::optional<Access> access_of(const char* operation, int access) {
  return choose<std::optional<Access>>({operation, "access", access},
                                       {{}, Access::kBuffered, Access::kDirect});
}

ArrayOrder order_of(const char* operation, int order) {
  return choose({operation, "order", order}, {ArrayOrder::kC, ArrayOrder::kFortran});
}

ElementType element_type_of_number(const char* operation, int type) {
  if (type < kElementTypeMin || type > kElementTypeMax)
    refuse_argument(operation, "type is " + std::to_string(type) +
                                   ", it must be from FOREBAY_INT8 (1) to FOREBAY_BYTES (14)");
  return static_cast<ElementType>(type);
}

}  // namespace forebay::bindings
