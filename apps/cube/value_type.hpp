// SPDX-License-Identifier: Apache-2.0
// The type of a metric's values: docs/formats/cubex.md, "Value types". Every type is a sequence of
// plain numbers, so that swapping, comparing and printing are implemented once.
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

/// The types of the format's table, in its order.
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
  /// The name as Forebay writes it: "UINT64", "HISTOGRAM(5)".
  std::string name() const;
  /// Whether a value is one number.
  bool is_scalar() const noexcept { return kind <= ValueKind::kMaxDouble; }
  friend bool operator==(const ValueType&, const ValueType&) noexcept = default;
};

/// Parses a dtype, including alternative names. Fails with kUnsupported for an unknown name, and if
/// n is missing or over kCountLimit.
Result<ValueType> parse_value_type(std::string_view text);

/// The numbers of one value, in order. For SCALE_FUNC, `value` determines how many are used, and
/// counts over the limits are reduced to them; other types ignore `value`.
std::vector<ScalarRun> scalar_runs_of(ValueType type,
                                      std::span<const std::byte> value,
                                      ByteOrder order = ByteOrder::kLittle);

/// Converts packed values from byte order `from` to `to`, in place. `values` must hold whole
/// values.
void swap_value_bytes(ValueType type, ByteOrder from, ByteOrder to, std::span<std::byte> values);

/// The number at the beginning of `bytes`, as a double; whole numbers over 2^53 are rounded.
double as_double(Scalar scalar, std::span<const std::byte> bytes);

/// Converts packed values of one number each, in this machine's byte order, to doubles. `numbers`
/// has one element per value. Fails with kUnsupported for types of several numbers.
Status as_doubles(ValueType type, std::span<const std::byte> values, std::span<double> numbers);

}  // namespace forebay::cube
