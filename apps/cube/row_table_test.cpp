// SPDX-License-Identifier: Apache-2.0
#include "cube/row_table.hpp"

#include <array>

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

constexpr RowTableBounds kBounds{.row_count = 3, .row_bytes = 8, .payload_bytes = 100};

std::span<const std::byte> entries_of(const std::vector<std::byte>& head) {
  return std::span(head).subspan(kCompressedMagic.size() + kTableCountBytes);
}

/// The rows of a table at all positions of kBounds.
std::vector<CompressedRow> rows_of(const RowTable& table) {
  std::vector<CompressedRow> rows;
  for (std::uint64_t position = 0; position < kBounds.row_count; ++position)
    rows.push_back(table.at(position));
  return rows;
}

TEST(RowTable, sizes_give_offsets) {
  const std::array<std::uint64_t, 3> sizes{10, 0, 25};
  const std::vector<CompressedRow> expected{{0, 10}, {10, 0}, {10, 25}};
  EXPECT_EQ(layout_compressed_rows(sizes), expected);
}

TEST(RowTable, round_trips_in_both_byte_orders) {
  const std::vector<CompressedRow> rows{{0, 10}, {10, 0}, {10, 90}};
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    const auto head = encode_row_table(rows, 8, order);
    EXPECT_EQ(head.size(), compressed_header_bytes(3));
    RowTableBounds bounds = kBounds;
    bounds.order = order;
    const auto again = decode_row_table(entries_of(head), bounds);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(rows_of(*again), rows);
  }
}

TEST(RowTable, unordered_and_missing_entries_are_decoded) {
  std::vector<std::byte> entry(kTableEntryBytes);
  store<std::uint64_t>(16, entry);
  store<std::uint64_t>(5, std::span(entry).subspan(8));
  store<std::uint64_t>(7, std::span(entry).subspan(16));
  const std::vector<CompressedRow> expected{{0, 0}, {0, 0}, {5, 7}};
  EXPECT_EQ(rows_of(*decode_row_table(entry, kBounds)), expected);
}

TEST(RowTable, memory_depends_on_entries_not_on_row_count) {
  constexpr std::uint64_t kRows = std::uint64_t{1} << 60U;
  const RowTableBounds bounds{.row_count = kRows, .row_bytes = 8, .payload_bytes = 100};
  const auto none = decode_row_table({}, bounds);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->at(kRows - 1), CompressedRow{});
  std::vector<std::byte> entry(kTableEntryBytes);
  store<std::uint64_t>((kRows - 1) * 8, entry);
  store<std::uint64_t>(5, std::span(entry).subspan(8));
  store<std::uint64_t>(7, std::span(entry).subspan(16));
  const auto one = decode_row_table(entry, bounds);
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->at(kRows - 1), (CompressedRow{5, 7}));
  EXPECT_EQ(one->at(kRows - 2), CompressedRow{});
}

/// The cause of the error for a table of two rows, the second of which is `second`.
std::string expect_error(std::array<std::uint64_t, 3> second) {
  const std::vector<CompressedRow> rows{{0, 10}, {10, 20}};
  auto head = encode_row_table(rows, 8);
  for (std::size_t i = 0; i < second.size(); ++i)
    store(second[i], std::span(head).last(kTableEntryBytes).subspan(8 * i));
  const auto read = decode_row_table(entries_of(head), kBounds);
  if (read) return "accepted";
  EXPECT_EQ(read.error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(read.error().offset_bytes(), kTableEntryBytes);
  return read.error().cause();
}

TEST(RowTable, invalid_entry_returns_damage_with_offset) {
  EXPECT_EQ(expect_error({8, 10, 20}), "accepted");
  EXPECT_EQ(expect_error({0, 10, 20}), "row 0 occurs twice");
  EXPECT_NE(expect_error({9, 10, 20}).find("no row begins at 9"), std::string::npos);
  EXPECT_NE(expect_error({24, 10, 20}).find("no row begins at 24"), std::string::npos);
  EXPECT_NE(expect_error({8, 90, 20}).find("past the 100 bytes"), std::string::npos);
  EXPECT_NE(expect_error({8, 101, 0}).find("past the 100 bytes"), std::string::npos);
  EXPECT_NE(expect_error({8, UINT64_MAX, 2}).find("past the 100 bytes"), std::string::npos);
  EXPECT_NE(expect_error({8, 2, UINT64_MAX}).find("past the 100 bytes"), std::string::npos);
}

TEST(RowTable, rows_of_zero_bytes_are_rejected) {
  const std::vector<std::byte> entry(kTableEntryBytes);
  EXPECT_FALSE(decode_row_table(entry, {.row_count = 1, .row_bytes = 0, .payload_bytes = 1}));
}

}  // namespace
}  // namespace forebay::cube
