// SPDX-License-Identifier: Apache-2.0
#include "cube/row_table.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "cube/magic.hpp"

namespace forebay::cube {

namespace {

struct TableEntry {
  std::uint64_t unpacked_offset;
  CompressedRow row;
};

TableEntry load_entry(std::span<const std::byte> bytes, ByteOrder order) {
  return {load<std::uint64_t>(bytes, order),
          {load<std::uint64_t>(bytes.subspan(8), order),
           load<std::uint64_t>(bytes.subspan(16), order)}};
}

std::string entry_error(const TableEntry& entry, const RowTableBounds& bounds) {
  const CompressedRow& row = entry.row;
  const bool begins_a_row = bounds.row_bytes > 0 && entry.unpacked_offset % bounds.row_bytes == 0 &&
                            entry.unpacked_offset / bounds.row_bytes < bounds.row_count;
  if (!begins_a_row) {
    return fmt::format("no row begins at {}; there are {} rows of {} bytes", entry.unpacked_offset,
                       bounds.row_count, bounds.row_bytes);
  }
  const bool fits =
      row.offset <= bounds.payload_bytes && row.size_bytes <= bounds.payload_bytes - row.offset;
  if (fits) return {};
  return fmt::format("a row of {} bytes at {} reaches past the {} bytes of the data",
                     row.size_bytes, row.offset, bounds.payload_bytes);
}

tl::unexpected<Error> damaged_table(std::uint64_t offset, std::string cause) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read a table of compressed rows",
                  .offset_bytes = offset,
                  .cause = std::move(cause)});
}

}  // namespace

std::vector<CompressedRow> layout_compressed_rows(std::span<const std::uint64_t> size_bytes) {
  std::vector<CompressedRow> rows;
  rows.reserve(size_bytes.size());
  std::uint64_t offset = 0;
  for (const std::uint64_t size : size_bytes) {
    rows.push_back({offset, size});
    offset += size;
  }
  return rows;
}

std::vector<std::byte> encode_row_table(std::span<const CompressedRow> rows,
                                        std::uint64_t row_bytes,
                                        ByteOrder order) {
  std::vector<std::byte> bytes(compressed_header_bytes(rows.size()));
  write_magic(kCompressedMagic, bytes);
  auto rest = std::span(bytes).subspan(kCompressedMagic.size());
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
  if (entries.empty() || entries.back().index == entries.size() - 1) return;
  indices_.reserve(entries.size());
  for (const Entry& entry : entries)
    indices_.push_back(entry.index);
}

CompressedRow RowTable::at(std::uint64_t position) const {
  if (indices_.empty()) return position < rows_.size() ? rows_[position] : CompressedRow{};
  const auto found = std::ranges::lower_bound(indices_, position);
  if (found == indices_.end() || *found != position) return {};
  return rows_[static_cast<std::size_t>(found - indices_.begin())];
}

Result<RowTable> decode_row_table(std::span<const std::byte> entries,
                                  const RowTableBounds& bounds) {
  std::vector<RowTable::Entry> rows;
  rows.reserve(entries.size() / kTableEntryBytes);
  for (std::uint64_t at = 0; at + kTableEntryBytes <= entries.size(); at += kTableEntryBytes) {
    const TableEntry entry = load_entry(entries.subspan(at), bounds.order);
    if (const std::string fault = entry_error(entry, bounds); !fault.empty())
      return damaged_table(at, fault);
    rows.push_back({entry.unpacked_offset / bounds.row_bytes, entry.row, at});
  }
  if (!std::ranges::is_sorted(rows, {}, &RowTable::Entry::index))
    std::ranges::sort(rows, {}, [](const auto& row) { return std::pair(row.index, row.offset); });
  const auto twice = std::ranges::adjacent_find(rows, {}, &RowTable::Entry::index);
  if (twice == rows.end()) return RowTable(rows);
  return damaged_table(std::next(twice)->offset, fmt::format("row {} occurs twice", twice->index));
}

}  // namespace forebay::cube
