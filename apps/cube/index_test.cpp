// SPDX-License-Identifier: Apache-2.0
#include "cube/index.hpp"

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

std::vector<std::byte> example() { return encode_index({.rows = {0, 2}}); }

/// The offset where decoding `bytes` fails; 999 if it succeeds.
std::uint64_t fault_at(std::span<const std::byte> bytes, std::uint32_t row_limit = 3) {
  const auto index = decode_index(bytes, row_limit);
  if (index) return 999;
  EXPECT_EQ(index.error().kind(), ErrorClass::kDamage);
  EXPECT_FALSE(index.error().cause().empty());
  return index.error().offset_bytes().value_or(998);
}

std::uint64_t fault_with(std::size_t offset, unsigned value) {
  auto bytes = example();
  bytes[offset] = static_cast<std::byte>(value);
  return fault_at(bytes);
}

TEST(Index, round_trips_in_both_byte_orders_and_formats) {
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    for (const Index& index :
         {Index{IndexFormat::kSparse, order, {}}, Index{IndexFormat::kSparse, order, {0, 2, 6}},
          Index{IndexFormat::kDense, order, RowNumbers::dense(7)}}) {
      const auto bytes = encode_index(index);
      EXPECT_EQ(bytes.size(), index_bytes(index.format, index.rows.size()));
      const auto again = decode_index(bytes, 7);
      ASSERT_TRUE(again) << again.error().message();
      EXPECT_EQ(*again, index);
    }
  }
}

TEST(Index, rows_are_found_by_number) {
  for (const RowNumbers& all : {RowNumbers::dense(3), RowNumbers{0, 1, 2}}) {
    EXPECT_EQ(all.size(), 3U);
    EXPECT_EQ(all[2], 2U);
    EXPECT_EQ(all.index_of(2), 2U);
    EXPECT_EQ(all.index_of(3), std::nullopt);
  }
  const RowNumbers some{4, 7};
  EXPECT_EQ(some[1], 7U);
  EXPECT_EQ(some.index_of(7), 1U);
  EXPECT_EQ(some.index_of(5), std::nullopt);
  EXPECT_EQ(RowNumbers().index_of(0), std::nullopt);
}

TEST(Index, invalid_field_returns_its_offset) {
  EXPECT_EQ(fault_at(example()), 999U);
  EXPECT_EQ(fault_with(0, 'X'), 0U);
  EXPECT_EQ(fault_with(11, 2), 11U);
  EXPECT_EQ(fault_with(15, 1), 15U);
  EXPECT_EQ(fault_with(17, 2), 17U);
  EXPECT_EQ(fault_with(17, 0), 17U);
  EXPECT_EQ(fault_with(18, 3), 18U) << "room for two rows only";
  EXPECT_EQ(fault_with(21, 0xff), 18U);
  EXPECT_EQ(fault_with(22, 2), 26U) << "row 2 occurs twice";
  EXPECT_EQ(fault_with(26, 3), 26U) << "there are three call paths";
}

TEST(Index, descending_rows_are_damage) {
  const auto bytes = encode_index({.rows = {2, 0}});
  EXPECT_EQ(fault_at(bytes), 26U);
}

TEST(Index, every_truncation_is_damage) {
  const auto bytes = example();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(fault_at(std::span(bytes).first(size)), 999U) << size;
}

TEST(Index, huge_count_is_rejected_before_allocation) {
  auto bytes = encode_index({.rows = {0}});
  store<std::uint32_t>(UINT32_MAX, std::span(bytes).subspan(18));
  EXPECT_EQ(fault_at(bytes, UINT32_MAX), 18U);
}

}  // namespace
}  // namespace forebay::cube
