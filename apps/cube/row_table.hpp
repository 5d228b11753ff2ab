// SPDX-License-Identifier: Apache-2.0
// The table at the beginning of compressed data: the offset and size of each row's zlib stream.
// Pure. It also turns sizes into offsets, in the second phase of writing such rows.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cube/byte_order.hpp"

namespace forebay::cube {

inline constexpr std::string_view kPlainMagic = "CUBEX.DATA";
inline constexpr std::string_view kCompressedMagic = "ZCUBEX.DATA";
/// Bytes of the entry count, and of an entry.
inline constexpr std::uint64_t kTableCountBytes = 8;
inline constexpr std::uint64_t kTableEntryBytes = 24;

/// The zlib stream of a row; the offset is from the end of the table. Size 0: all values are zero.
struct CompressedRow {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  friend bool operator==(const CompressedRow&, const CompressedRow&) noexcept = default;
};

/// Bytes from the beginning of the member to the end of the table.
constexpr std::uint64_t compressed_header_bytes(std::uint64_t row_count) {
  return kCompressedMagic.size() + kTableCountBytes + kTableEntryBytes * row_count;
}

/// Rows of these sizes, one after the other.
std::vector<CompressedRow> layout_compressed_rows(std::span<const std::uint64_t> size_bytes);

/// Encodes magic and table. `row_bytes` is the size of an uncompressed row.
std::vector<std::byte> encode_row_table(std::span<const CompressedRow> rows,
                                        std::uint64_t row_bytes,
                                        ByteOrder order = ByteOrder::kLittle);

/// Limits for checking a table.
struct RowTableBounds {
  std::uint64_t row_count = 0;      ///< in the index
  std::uint64_t row_bytes = 0;      ///< of an uncompressed row
  std::uint64_t payload_bytes = 0;  ///< of the member, after the table
  ByteOrder order = ByteOrder::kLittle;
};

/// Streams of rows, by position in the index. Memory depends on the number of entries only.
class RowTable {
 public:
  struct Entry {
    std::uint64_t index = 0;
    CompressedRow row;
    std::uint64_t offset = 0;  ///< offset of the entry in the table
  };
  RowTable() = default;
  /// `entries` must be sorted by ascending index.
  explicit RowTable(std::span<const Entry> entries);

  /// Size 0 for a row without an entry.
  CompressedRow at(std::uint64_t position) const;

 private:
  std::vector<CompressedRow> rows_;
  std::vector<std::uint64_t> indices_;  // ascending; empty if they are 0, 1, 2, ...
};

/// Decodes the entries of a table (without magic and count). Fails with kDamage for an entry that
/// occurs twice, begins at no row or reaches past the payload. Offsets are from the first entry.
Result<RowTable> decode_row_table(std::span<const std::byte> entries, const RowTableBounds& bounds);

}  // namespace forebay::cube
