// SPDX-License-Identifier: Apache-2.0
#include "cube/row_table.hpp"

#include <array>

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

constexpr PackedShape kPackedShape{.row_count = 3, .row_bytes = 8, .payload_bytes = 100};

std::span<const std::byte> entries_of(const std::vector<std::byte>& head) {
  return std::span(head).subspan(kPackedMark.size() + kTableCountBytes);
}

/// The rows of a table at the places of kPackedShape.
std::vector<PackedRow> rows_of(const RowTable& table) {
  std::vector<PackedRow> rows;
  for (std::uint64_t place = 0; place < kPackedShape.row_count; ++place)
    rows.push_back(table.at(place));
  return rows;
}

TEST(PackedRowTable, sizes_become_places) {
  const std::array<std::uint64_t, 3> sizes{10, 0, 25};
  const std::vector<PackedRow> expected{{0, 10}, {10, 0}, {10, 25}};
  EXPECT_EQ(place_packed_rows(sizes), expected);
}

TEST(PackedRowTable, survives_being_written_in_both_orders) {
  const std::vector<PackedRow> rows{{0, 10}, {10, 0}, {10, 90}};
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    const auto head = encode_packed_head(rows, 8, order);
    EXPECT_EQ(head.size(), packed_head_bytes(3));
    PackedShape shape = kPackedShape;
    shape.order = order;
    const auto again = decode_packed_rows(entries_of(head), shape);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(rows_of(*again), rows);
  }
}

TEST(PackedRowTable, entries_may_be_in_any_order_and_missing) {
  std::vector<std::byte> entry(kTableEntryBytes);
  store<std::uint64_t>(16, entry);
  store<std::uint64_t>(5, std::span(entry).subspan(8));
  store<std::uint64_t>(7, std::span(entry).subspan(16));
  const std::vector<PackedRow> expected{{0, 0}, {0, 0}, {5, 7}};
  EXPECT_EQ(rows_of(*decode_packed_rows(entry, kPackedShape)), expected);
}

TEST(PackedRowTable, memory_is_that_of_its_entries_and_not_of_the_rows_there_may_be) {
  constexpr std::uint64_t kRows = std::uint64_t{1} << 60U;
  const PackedShape shape{.row_count = kRows, .row_bytes = 8, .payload_bytes = 100};
  const auto none = decode_packed_rows({}, shape);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->at(kRows - 1), PackedRow{});
  std::vector<std::byte> entry(kTableEntryBytes);
  store<std::uint64_t>((kRows - 1) * 8, entry);
  store<std::uint64_t>(5, std::span(entry).subspan(8));
  store<std::uint64_t>(7, std::span(entry).subspan(16));
  const auto one = decode_packed_rows(entry, shape);
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->at(kRows - 1), (PackedRow{5, 7}));
  EXPECT_EQ(one->at(kRows - 2), PackedRow{});
}

/// The cause of refusing a table of two rows, the second of which is `second`.
std::string refusal(std::array<std::uint64_t, 3> second) {
  const std::vector<PackedRow> rows{{0, 10}, {10, 20}};
  auto head = encode_packed_head(rows, 8);
  for (std::size_t i = 0; i < second.size(); ++i)
    store(second[i], std::span(head).last(kTableEntryBytes).subspan(8 * i));
  const auto read = decode_packed_rows(entries_of(head), kPackedShape);
  if (read) return "accepted";
  EXPECT_EQ(read.error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(read.error().offset_bytes(), kTableEntryBytes);
  return read.error().cause();
}

TEST(PackedRowTable, entries_that_cannot_be_are_damage_at_their_place) {
  EXPECT_EQ(refusal({8, 10, 20}), "accepted");
  EXPECT_EQ(refusal({0, 10, 20}), "row 0 is there twice");
  EXPECT_NE(refusal({9, 10, 20}).find("no row begins at 9"), std::string::npos);
  EXPECT_NE(refusal({24, 10, 20}).find("no row begins at 24"), std::string::npos);
  EXPECT_NE(refusal({8, 90, 20}).find("past the 100 bytes"), std::string::npos);
  EXPECT_NE(refusal({8, 101, 0}).find("past the 100 bytes"), std::string::npos);
  EXPECT_NE(refusal({8, UINT64_MAX, 2}).find("past the 100 bytes"), std::string::npos);
  EXPECT_NE(refusal({8, 2, UINT64_MAX}).find("past the 100 bytes"), std::string::npos);
}

TEST(PackedRowTable, rows_of_no_bytes_have_no_place) {
  const std::vector<std::byte> entry(kTableEntryBytes);
  EXPECT_FALSE(decode_packed_rows(entry, {.row_count = 1, .row_bytes = 0, .payload_bytes = 1}));
}

}  // namespace
}  // namespace forebay::cube
