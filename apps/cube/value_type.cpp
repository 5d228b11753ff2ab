// SPDX-License-Identifier: Apache-2.0
#include "cube/value_type.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace forebay::cube {

namespace {

struct Name {
  std::string_view text;
  ValueKind kind;
};
/// The first name of each kind is the one that Forebay writes.
constexpr std::array kNames{
    Name{"INT8", ValueKind::kInt8},
    Name{"UINT8", ValueKind::kUint8},
    Name{"INT16", ValueKind::kInt16},
    Name{"UINT16", ValueKind::kUint16},
    Name{"INT32", ValueKind::kInt32},
    Name{"UINT32", ValueKind::kUint32},
    Name{"INT64", ValueKind::kInt64},
    Name{"UINT64", ValueKind::kUint64},
    Name{"DOUBLE", ValueKind::kDouble},
    Name{"MINDOUBLE", ValueKind::kMinDouble},
    Name{"MAXDOUBLE", ValueKind::kMaxDouble},
    Name{"COMPLEX", ValueKind::kComplex},
    Name{"RATE", ValueKind::kRate},
    Name{"TAU_ATOMIC", ValueKind::kTauAtomic},
    Name{"NDOUBLES", ValueKind::kDoubles},
    Name{"HISTOGRAM", ValueKind::kHistogram},
    Name{"SCALE_FUNC", ValueKind::kScaleFunction},
    Name{"CHAR", ValueKind::kUint8},
    Name{"SHORT INT", ValueKind::kInt16},
    Name{"SIGNED SHORT INT", ValueKind::kInt16},
    Name{"UNSIGNED SHORT INT", ValueKind::kUint16},
    Name{"INT", ValueKind::kInt32},
    Name{"SIGNED INT", ValueKind::kInt32},
    Name{"UNSIGNED INT", ValueKind::kUint32},
    Name{"INTEGER", ValueKind::kInt64},
    Name{"SIGNED INTEGER", ValueKind::kInt64},
    Name{"UNSIGNED INTEGER", ValueKind::kUint64},
    Name{"FLOAT", ValueKind::kDouble},
};

constexpr std::uint64_t kScaleTermBytes = 20;
/// Bytes that CubeLib reserves for a measurement: its struct has padding, the numbers in the file
/// do not.
constexpr std::uint64_t kScaleMeasurementRoomBytes = 24;

bool has_count(ValueKind kind) {
  return kind == ValueKind::kDoubles || kind == ValueKind::kHistogram;
}

Scalar scalar_of(ValueKind kind) {
  return kind <= ValueKind::kDouble ? static_cast<Scalar>(kind) : Scalar::kF64;
}
static_assert(static_cast<int>(Scalar::kF64) == static_cast<int>(ValueKind::kDouble));

std::string_view trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && is_blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back()))
    text.remove_suffix(1);
  return text;
}

/// The n of "(n)"; nullopt if `text` has another form, or if n is 0 or too large.
std::optional<std::uint32_t> parse_count(std::string_view text) {
  if (text.size() < 3 || text.front() != '(' || text.back() != ')') return std::nullopt;
  const std::string_view digits = trim(text.substr(1, text.size() - 2));
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool is_whole = error == std::errc{} && end == digits.data() + digits.size();
  if (!is_whole || count == 0 || count > ValueType::kCountLimit) return std::nullopt;
  return count;
}

Error unknown_type_error(std::string_view text) {
  return Error({.kind = ErrorClass::kUnsupported,
                .operation = "read a value type",
                .cause = fmt::format("'{}' is not a known value type", text)});
}

/// Calls `use` with a zero of the C++ type of `scalar`, so that the type is dispatched once and not
/// for each number.
template <class Use>
void dispatch_scalar(Scalar scalar, const Use& use) {
  switch (scalar) {
    case Scalar::kI8:
      return use(std::int8_t{});
    case Scalar::kU8:
      return use(std::uint8_t{});
    case Scalar::kI16:
      return use(std::int16_t{});
    case Scalar::kU16:
      return use(std::uint16_t{});
    case Scalar::kI32:
      return use(std::int32_t{});
    case Scalar::kU32:
      return use(std::uint32_t{});
    case Scalar::kI64:
      return use(std::int64_t{});
    case Scalar::kU64:
      return use(std::uint64_t{});
    case Scalar::kF64:
      return use(double{});
  }
}

std::vector<ScalarRun> scale_function(std::span<const std::byte> value, ByteOrder order) {
  const std::uint32_t terms =
      std::min(load<std::uint32_t>(value, order), ValueType::kScaleTermsMax);
  const std::uint32_t measurements =
      std::min(load<std::uint32_t>(value.subspan(4), order), ValueType::kScaleMeasurementsMax);
  std::vector<ScalarRun> runs{{Scalar::kU32, 2}};
  for (std::uint32_t i = 0; i < terms; ++i) {
    runs.insert(runs.end(),
                {{Scalar::kF64, 1}, {Scalar::kI32, 1}, {Scalar::kU32, 1}, {Scalar::kI32, 1}});
  }
  for (std::uint32_t i = 0; i < measurements; ++i)
    runs.insert(runs.end(), {{Scalar::kU32, 1}, {Scalar::kF64, 2}});
  return runs;
}

void reverse_elements(std::span<std::byte> bytes, std::size_t width) {
  for (; bytes.size() >= width; bytes = bytes.subspan(width))
    std::ranges::reverse(bytes.first(width));
}

}  // namespace

std::uint64_t ValueType::size_bytes() const noexcept {
  switch (kind) {
    case ValueKind::kComplex:
    case ValueKind::kRate:
      return 16;
    case ValueKind::kTauAtomic:
      return 36;
    case ValueKind::kDoubles:
      return std::uint64_t{8} * count;
    case ValueKind::kHistogram:
      return 16 + std::uint64_t{8} * count;
    case ValueKind::kScaleFunction:
      return 8 + kScaleTermsMax * kScaleTermBytes +
             kScaleMeasurementsMax * kScaleMeasurementRoomBytes;
    default:
      return size_of(scalar_of(kind));
  }
}

std::string ValueType::name() const {
  const std::string_view text = std::ranges::find(kNames, kind, &Name::kind)->text;
  return has_count(kind) ? fmt::format("{}({})", text, count) : std::string(text);
}

Result<ValueType> parse_value_type(std::string_view text) {
  const std::string_view whole = trim(text);
  const std::size_t bracket = std::min(whole.find('('), whole.size());
  const auto found = std::ranges::find(kNames, trim(whole.substr(0, bracket)), &Name::text);
  if (found == kNames.end()) return failure(unknown_type_error(text));
  if (!has_count(found->kind)) {
    if (bracket != whole.size()) return failure(unknown_type_error(text));
    return ValueType{found->kind, 1};
  }
  const std::optional<std::uint32_t> count = parse_count(whole.substr(bracket));
  if (!count) return failure(unknown_type_error(text));
  return ValueType{found->kind, *count};
}

std::vector<ScalarRun> scalar_runs_of(ValueType type,
                                      std::span<const std::byte> value,
                                      ByteOrder order) {
  switch (type.kind) {
    case ValueKind::kComplex:
    case ValueKind::kRate:
      return {{Scalar::kF64, 2}};
    case ValueKind::kTauAtomic:
      return {{Scalar::kU32, 1}, {Scalar::kF64, 4}};
    case ValueKind::kDoubles:
      return {{Scalar::kF64, type.count}};
    case ValueKind::kHistogram:
      return {{Scalar::kF64, type.count + 2}};
    case ValueKind::kScaleFunction:
      return scale_function(value, order);
    default:
      return {{scalar_of(type.kind), 1}};
  }
}

void swap_value_bytes(ValueType type, ByteOrder from, ByteOrder to, std::span<std::byte> values) {
  if (from == to) return;
  if (type.is_scalar() || type.kind == ValueKind::kComplex || type.kind == ValueKind::kRate) {
    reverse_elements(values, size_of(scalar_of(type.kind)));
    return;
  }
  const std::uint64_t size_bytes = type.size_bytes();
  for (; values.size() >= size_bytes; values = values.subspan(size_bytes)) {
    auto rest = values.first(size_bytes);
    for (const ScalarRun& run : scalar_runs_of(type, values.first(size_bytes), from)) {
      const std::size_t bytes = run.count * size_of(run.scalar);
      reverse_elements(rest.first(bytes), size_of(run.scalar));
      rest = rest.subspan(bytes);
    }
  }
}

double as_double(Scalar scalar, std::span<const std::byte> bytes) {
  double number = 0;
  dispatch_scalar(scalar, [&]<class T>(T) { number = static_cast<double>(load<T>(bytes)); });
  return number;
}

Status as_doubles(ValueType type, std::span<const std::byte> values, std::span<double> numbers) {
  if (!type.is_scalar()) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "read values as numbers",
                    .cause = fmt::format("a value of type {} has several numbers", type.name())});
  }
  dispatch_scalar(scalar_of(type.kind), [&]<class T>(T) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<double>(load<T>(values.subspan(i * sizeof(T))));
  });
  return {};
}

}  // namespace forebay::cube
