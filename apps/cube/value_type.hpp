// SPDX-License-Identifier: Apache-2.0
// What one value of a metric is: docs/formats/cubex.md, "Value types". Every type is a sequence of
// plain numbers, so that turning byte order, comparing and printing are written once.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cube/byte_order.hpp"

namespace forebay::cube {

/// The types of the table of the page, in its order.
enum class ValueKind : std::uint8_t {
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kDouble,
  kMinDouble,
  kMaxDouble,
  kComplex,
  kRate,
  kTauAtomic,
  kDoubles,
  kHistogram,
  kScaleFunction,
};

/// A plain number inside a value.
enum class Scalar : std::uint8_t { kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF64 };
constexpr std::size_t size_of(Scalar scalar) {
  constexpr std::size_t kSizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 8};
  return kSizes[static_cast<std::size_t>(scalar)];
}

/// Consecutive numbers of one kind.
struct ScalarRun {
  Scalar scalar = Scalar::kF64;
  std::uint32_t count = 1;
};

/// The type of a metric's values. A plain value.
struct ValueType {
  static constexpr std::uint32_t kCountLimit = 65536;
  static constexpr std::uint32_t kScaleTermsMax = 30;
  static constexpr std::uint32_t kScaleMeasurementsMax = 10;

  ValueKind kind = ValueKind::kDouble;
  std::uint32_t count = 1;  ///< n of NDOUBLES(n) and HISTOGRAM(n), 1 for the others

  /// Bytes of one value, packed.
  std::uint64_t size_bytes() const noexcept;
  /// The name as we write it: "UINT64", "HISTOGRAM(5)".
  std::string name() const;
  /// Whether a value is one number.
  bool is_scalar() const noexcept { return kind <= ValueKind::kMaxDouble; }
  friend bool operator==(const ValueType&, const ValueType&) noexcept = default;
};

/// The type that a dtype names, also by its other names. Fails with kUnsupported for an unknown
/// name, and one whose n is missing or over kCountLimit.
Result<ValueType> parse_value_type(std::string_view text);

/// The numbers of one value, in their order. For SCALE_FUNC `value` says how many are in use, and
/// counts over the limits are cut to them; the others do not look at it.
std::vector<ScalarRun> numbers_of(ValueType type,
                                  std::span<const std::byte> value,
                                  ByteOrder order = ByteOrder::kLittle);

/// Turns packed values from `order` to that of this machine, or back, in place. `values` holds
/// whole values.
void turn_values(ValueType type, ByteOrder from, ByteOrder to, std::span<std::byte> values);

/// The number at the beginning of `bytes`, as a double: whole numbers over 2^53 are rounded.
double as_double(Scalar scalar, std::span<const std::byte> bytes);

/// Packed values of one number each, in this machine's byte order, as doubles: `numbers` has as
/// many as `values` holds. Fails with kUnsupported for types of several numbers, which do not say
/// what their one number would be.
Status as_doubles(ValueType type, std::span<const std::byte> values, std::span<double> numbers);

}  // namespace forebay::cube
