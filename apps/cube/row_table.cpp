// SPDX-License-Identifier: Apache-2.0
#include "cube/row_table.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "cube/mark.hpp"

namespace forebay::cube {

namespace {

struct Entry {
  std::uint64_t unpacked_offset;
  PackedRow row;
};

Entry load_entry(std::span<const std::byte> bytes, ByteOrder order) {
  return {load<std::uint64_t>(bytes, order),
          {load<std::uint64_t>(bytes.subspan(8), order),
           load<std::uint64_t>(bytes.subspan(16), order)}};
}

std::string fault_of(const Entry& entry, const PackedShape& shape) {
  const PackedRow& row = entry.row;
  const bool begins_a_row = shape.row_bytes > 0 && entry.unpacked_offset % shape.row_bytes == 0 &&
                            entry.unpacked_offset / shape.row_bytes < shape.row_count;
  if (!begins_a_row) {
    return fmt::format("no row begins at {}: there are {} of {} bytes", entry.unpacked_offset,
                       shape.row_count, shape.row_bytes);
  }
  const bool fits =
      row.offset <= shape.payload_bytes && row.size_bytes <= shape.payload_bytes - row.offset;
  if (fits) return {};
  return fmt::format("a row of {} bytes at {} reaches past the {} bytes of the data",
                     row.size_bytes, row.offset, shape.payload_bytes);
}

tl::unexpected<Error> damaged_table(std::uint64_t offset, std::string cause) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read a table of compressed rows",
                  .offset_bytes = offset,
                  .cause = std::move(cause)});
}

}  // namespace

std::vector<PackedRow> place_packed_rows(std::span<const std::uint64_t> size_bytes) {
  std::vector<PackedRow> rows;
  rows.reserve(size_bytes.size());
  std::uint64_t offset = 0;
  for (const std::uint64_t size : size_bytes) {
    rows.push_back({offset, size});
    offset += size;
  }
  return rows;
}

std::vector<std::byte> encode_packed_head(std::span<const PackedRow> rows,
                                          std::uint64_t row_bytes,
                                          ByteOrder order) {
  std::vector<std::byte> bytes(packed_head_bytes(rows.size()));
  put_mark(kPackedMark, bytes);
  auto rest = std::span(bytes).subspan(kPackedMark.size());
  store<std::uint64_t>(rows.size(), rest, order);
  rest = rest.subspan(kTableCountBytes);
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    store<std::uint64_t>(i * row_bytes, rest, order);
    store<std::uint64_t>(rows[i].offset, rest.subspan(8), order);
    store<std::uint64_t>(rows[i].size_bytes, rest.subspan(16), order);
    rest = rest.subspan(kTableEntryBytes);
  }
  return bytes;
}

RowTable::RowTable(std::span<const Entry> entries) {
  rows_.reserve(entries.size());
  for (const Entry& entry : entries)
    rows_.push_back(entry.row);
  if (entries.empty() || entries.back().place == entries.size() - 1) return;
  places_.reserve(entries.size());
  for (const Entry& entry : entries)
    places_.push_back(entry.place);
}

PackedRow RowTable::at(std::uint64_t place) const {
  if (places_.empty()) return place < rows_.size() ? rows_[place] : PackedRow{};
  const auto found = std::ranges::lower_bound(places_, place);
  if (found == places_.end() || *found != place) return {};
  return rows_[static_cast<std::size_t>(found - places_.begin())];
}

Result<RowTable> decode_packed_rows(std::span<const std::byte> entries, const PackedShape& shape) {
  std::vector<RowTable::Entry> rows;
  rows.reserve(entries.size() / kTableEntryBytes);
  for (std::uint64_t at = 0; at + kTableEntryBytes <= entries.size(); at += kTableEntryBytes) {
    const Entry entry = load_entry(entries.subspan(at), shape.order);
    if (const std::string fault = fault_of(entry, shape); !fault.empty())
      return damaged_table(at, fault);
    rows.push_back({entry.unpacked_offset / shape.row_bytes, entry.row, at});
  }
  if (!std::ranges::is_sorted(rows, {}, &RowTable::Entry::place))
    std::ranges::sort(rows, {}, [](const auto& row) { return std::pair(row.place, row.offset); });
  const auto twice = std::ranges::adjacent_find(rows, {}, &RowTable::Entry::place);
  if (twice == rows.end()) return RowTable(rows);
  return damaged_table(std::next(twice)->offset,
                       fmt::format("row {} is there twice", twice->place));
}

}  // namespace forebay::cube
