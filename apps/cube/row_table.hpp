// SPDX-License-Identifier: Apache-2.0
// The table at the beginning of compressed data: where each row's zlib stream lies. Pure, and so is
// the second phase of writing such rows: sizes become places.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cube/byte_order.hpp"

namespace forebay::cube {

inline constexpr std::string_view kPlainMark = "CUBEX.DATA";
inline constexpr std::string_view kPackedMark = "ZCUBEX.DATA";
/// Bytes of the number of entries, and of an entry.
inline constexpr std::uint64_t kTableCountBytes = 8;
inline constexpr std::uint64_t kTableEntryBytes = 24;

/// Where the stream of a row lies, from the end of the table. No bytes: all its values are zero.
struct PackedRow {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  friend bool operator==(const PackedRow&, const PackedRow&) noexcept = default;
};

/// Bytes from the beginning of the member to the end of the table.
constexpr std::uint64_t packed_head_bytes(std::uint64_t row_count) {
  return kPackedMark.size() + kTableCountBytes + kTableEntryBytes * row_count;
}

/// Rows of these sizes, one behind the other.
std::vector<PackedRow> place_packed_rows(std::span<const std::uint64_t> size_bytes);

/// Mark and table. `row_bytes` are those of an unpacked row.
std::vector<std::byte> encode_packed_head(std::span<const PackedRow> rows,
                                          std::uint64_t row_bytes,
                                          ByteOrder order = ByteOrder::kLittle);

/// What a table is read against.
struct PackedShape {
  std::uint64_t row_count = 0;      ///< of the index
  std::uint64_t row_bytes = 0;      ///< of an unpacked row
  std::uint64_t payload_bytes = 0;  ///< of the member, behind the table
  ByteOrder order = ByteOrder::kLittle;
};

/// Where rows lie, by their place in the index. Memory is that of the entries the table has.
class RowTable {
 public:
  struct Entry {
    std::uint64_t place = 0;
    PackedRow row;
    std::uint64_t offset = 0;  ///< of the entry in the table
  };
  RowTable() = default;
  /// Places rise.
  explicit RowTable(std::span<const Entry> entries);

  /// No bytes for a row that the table does not have.
  PackedRow at(std::uint64_t place) const;

 private:
  std::vector<PackedRow> rows_;
  std::vector<std::uint64_t> places_;  // rising; empty if they are 0, 1, 2, ...
};

/// The rows from the entries of a table (without mark and count). Fails with kDamage for entries
/// that are twice, begin where no row does, or reach past the payload; offsets are from the first
/// entry.
Result<RowTable> decode_packed_rows(std::span<const std::byte> entries, const PackedShape& shape);

}  // namespace forebay::cube
