// SPDX-License-Identifier: Apache-2.0
#include "cube/value_type.hpp"

#include <map>

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

TEST(ValueType, sizes_match_documentation) {
  const std::map<std::string, std::uint64_t> sizes{
      {"INT8", 1},          {"UINT8", 1},        {"CHAR", 1},           {"INT16", 2},
      {"SHORT INT", 2},     {"UINT16", 2},       {"INT32", 4},          {"SIGNED INT", 4},
      {"UINT32", 4},        {"INT64", 8},        {"INTEGER", 8},        {"UINT64", 8},
      {"FLOAT", 8},         {"DOUBLE", 8},       {"MINDOUBLE", 8},      {"MAXDOUBLE", 8},
      {"COMPLEX", 16},      {"RATE", 16},        {"TAU_ATOMIC", 36},    {"NDOUBLES(10)", 80},
      {"HISTOGRAM(5)", 56}, {"SCALE_FUNC", 848}, {"NDOUBLES ( 3 )", 24}};
  for (const auto& [name, size_bytes] : sizes) {
    const auto type = parse_value_type(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(type->size_bytes(), size_bytes) << name;
    EXPECT_EQ(parse_value_type(type->name()), *type) << name;
  }
}

TEST(ValueType, unknown_names_return_error_with_name) {
  for (const std::string name :
       {"", "double", "DOUBLE(3)", "NDOUBLES", "NDOUBLES(0)", "NDOUBLES(-1)", "NDOUBLES(65537)",
        "NDOUBLES(3", "HISTOGRAM()", "HISTOGRAM(3)x", "QUATERNION", "RATE(", "SCALE_FUNC()"}) {
    const auto type = parse_value_type(name);
    ASSERT_FALSE(type) << name;
    EXPECT_EQ(type.error().kind(), ErrorClass::kUnsupported);
    EXPECT_NE(type.error().cause().find("'" + name + "'"), std::string::npos);
  }
}

/// Bytes of a value: 0, 1, 2, ...; those of SCALE_FUNC begin with valid counts.
std::vector<std::byte> some_value(ValueType type, ByteOrder order) {
  std::vector<std::byte> value(type.size_bytes());
  for (std::size_t i = 0; i < value.size(); ++i)
    value[i] = static_cast<std::byte>(i);
  if (type.kind == ValueKind::kScaleFunction) {
    store<std::uint32_t>(2, value, order);
    store<std::uint32_t>(3, std::span(value).subspan(4), order);
  }
  return value;
}

TEST(ValueType, swapping_bytes_twice_restores_value) {
  for (const std::string name : {"INT8", "UINT16", "INT32", "UINT64", "DOUBLE", "COMPLEX", "RATE",
                                 "TAU_ATOMIC", "NDOUBLES(3)", "HISTOGRAM(2)", "SCALE_FUNC"}) {
    const ValueType type = *parse_value_type(name);
    const auto big = some_value(type, ByteOrder::kBig);
    std::vector<std::byte> values = big;
    values.insert(values.end(), big.begin(), big.end());
    const auto before = values;
    swap_value_bytes(type, ByteOrder::kBig, ByteOrder::kLittle, values);
    EXPECT_EQ(values == before, name == "INT8") << name;
    swap_value_bytes(type, ByteOrder::kLittle, ByteOrder::kBig, values);
    EXPECT_EQ(values, before) << name;
  }
}

TEST(ValueType, each_number_of_a_record_is_swapped) {
  const ValueType type{ValueKind::kTauAtomic, 1};
  auto value = some_value(type, ByteOrder::kBig);
  swap_value_bytes(type, ByteOrder::kBig, ByteOrder::kLittle, value);
  EXPECT_EQ(load<std::uint32_t>(value), 0x00010203U);
  EXPECT_EQ(load<std::uint64_t>(std::span(value).subspan(4)), 0x0405060708090a0bU);
}

TEST(ValueType, scale_function_counts_are_limited) {
  const ValueType type{ValueKind::kScaleFunction, 1};
  const auto bytes_of = [](const std::vector<ScalarRun>& runs) {
    std::size_t sum = 0;
    for (const ScalarRun& run : runs)
      sum += run.count * size_of(run.scalar);
    return sum;
  };
  const auto value = some_value(type, ByteOrder::kLittle);
  EXPECT_EQ(bytes_of(scalar_runs_of(type, value)), 8U + 2 * 20 + 3 * 20);
  const std::vector<std::byte> absurd(type.size_bytes(), std::byte{0xff});
  EXPECT_LE(bytes_of(scalar_runs_of(type, absurd)), type.size_bytes());
}

TEST(ValueType, scalars_are_converted_to_doubles) {
  std::vector<std::byte> bytes(8);
  store<std::int16_t>(-300, bytes);
  EXPECT_EQ(as_double(Scalar::kI16, bytes), -300);
  store<std::uint64_t>(UINT64_MAX, bytes);
  EXPECT_EQ(as_double(Scalar::kU64, bytes), 0x1p64);
  store(0.1, bytes);
  EXPECT_EQ(as_double(Scalar::kF64, bytes), 0.1);
}

TEST(ValueType, rows_are_converted_to_doubles) {
  std::vector<std::byte> row(6);
  store<std::int16_t>(7, row);
  store<std::int16_t>(-1, std::span(row).subspan(2));
  store<std::int16_t>(300, std::span(row).subspan(4));
  std::vector<double> numbers(3);
  ASSERT_TRUE(as_doubles({ValueKind::kInt16, 1}, row, numbers));
  EXPECT_EQ(numbers, (std::vector<double>{7, -1, 300}));
  const Status refused = as_doubles({ValueKind::kRate, 1}, row, numbers);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorClass::kUnsupported);
}

}  // namespace
}  // namespace forebay::cube
