// SPDX-License-Identifier: Apache-2.0
// Where every byte of a new profile will be, before any of it is known: so rows are written in any
// order, by any thread, each byte once. Pure arithmetic.
#pragma once

#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cube/index.hpp"
#include "cube/row_table.hpp"

namespace forebay::cube {

/// A member of a new archive: header, content, and what fills it up.
struct MemberPlace {
  std::string name;
  std::uint64_t header_offset = 0;
  ByteRange bytes;               ///< the content
  std::uint64_t end_offset = 0;  ///< where the next header is
};

/// The bytes of an archive around its contents, at their places.
struct Piece {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
};

/// Appends members: what is known of one is enough for its place. So rows whose sizes come to be
/// known only as they are compressed are placed metric by metric.
class ArchiveLayout {
 public:
  explicit ArchiveLayout(std::uint64_t begin_offset = 0) : end_offset_(begin_offset) {}

  /// `name` fits encode_tar_header().
  MemberPlace append(std::string name, std::uint64_t size_bytes);

  /// Where the next header would be.
  std::uint64_t end_offset() const noexcept { return end_offset_; }
  /// The size of the archive if it ends here.
  std::uint64_t file_bytes() const noexcept;
  /// The end of an archive that ends here.
  Piece end() const;

 private:
  std::uint64_t end_offset_;
};

/// The header of a member.
Piece header_of(const MemberPlace& place);
/// What lies between the end of its content and the next header; may be empty.
Piece filler_of(const MemberPlace& place);

/// The rows of one metric, as far as places depend on them.
struct RowsShape {
  std::uint32_t metric_id = 0;
  std::uint64_t row_bytes = 0;  ///< of an unpacked row
  std::uint64_t row_count = 0;
  IndexFormat format = IndexFormat::kSparse;
  /// Absent: rows are plain. Else the bytes of each row's stream: the second phase.
  std::optional<std::vector<std::uint64_t>> packed_bytes = std::nullopt;

  /// Bytes of the data member up to its first row.
  std::uint64_t head_bytes() const noexcept;
  /// Bytes of the data member.
  std::uint64_t data_bytes() const noexcept;
};

/// Where the rows of a metric and their index are.
struct RowsPlace {
  MemberPlace data;
  MemberPlace index;
  std::uint64_t row_bytes = 0;
  std::uint64_t first_row_offset = 0;
  std::vector<PackedRow> packed;  ///< empty if rows are plain

  /// Row `place` of the index.
  ByteRange row(std::uint64_t place) const;
};

RowsPlace append_rows(ArchiveLayout& archive, const RowsShape& shape);

/// What a profile consists of.
struct ContainerShape {
  std::optional<std::uint64_t> specification_bytes = std::nullopt;
  std::vector<RowsShape> metrics;
  std::uint64_t anchor_bytes = 0;
};

struct ContainerLayout {
  std::optional<MemberPlace> specification;
  std::vector<RowsPlace> metrics;  ///< in the order of the shape's
  MemberPlace anchor;
  std::uint64_t file_bytes = 0;

  /// Everything that is no content: headers, what fills members up, the end; in rising order.
  std::vector<Piece> frame() const;
};

/// The order of the page: specification, data and index of each metric, anchor.
ContainerLayout plan_container(const ContainerShape& shape);

}  // namespace forebay::cube
