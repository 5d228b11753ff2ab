// SPDX-License-Identifier: Apache-2.0
// Computes the offset of every byte of a new profile before any content is known. So any thread can
// write rows in any order, each byte once. Pure.
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

/// A member of a new archive: header, content and padding.
struct MemberLayout {
  std::string name;
  std::uint64_t header_offset = 0;
  ByteRange bytes;               ///< the content
  std::uint64_t end_offset = 0;  ///< of the next header
};

/// Bytes of an archive outside the contents of members, with their offset.
struct FileSegment {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
};

/// Appends members to an archive. The name and size of a member determine its offsets. So rows
/// whose size is known only after compression are laid out metric by metric.
class ArchiveLayout {
 public:
  explicit ArchiveLayout(std::uint64_t begin_offset = 0) : end_offset_(begin_offset) {}

  /// `name` must be one that encode_tar_header() accepts.
  MemberLayout append(std::string name, std::uint64_t size_bytes);

  /// The offset of the next header.
  std::uint64_t end_offset() const noexcept { return end_offset_; }
  /// The file size if no member follows.
  std::uint64_t file_bytes() const noexcept;
  /// The end of the archive if no member follows.
  FileSegment end() const;

 private:
  std::uint64_t end_offset_;
};

/// The header of a member.
FileSegment header_of(const MemberLayout& member);
/// The padding between the content and the next header; may be empty.
FileSegment padding_of(const MemberLayout& member);

/// The properties of a metric's rows that determine offsets.
struct RowsSpec {
  std::uint32_t metric_id = 0;
  std::uint64_t row_bytes = 0;  ///< of an uncompressed row
  std::uint64_t row_count = 0;
  IndexFormat format = IndexFormat::kSparse;
  /// Absent: rows are plain. Else the size of each row's stream; known in the second phase.
  std::optional<std::vector<std::uint64_t>> compressed_bytes = std::nullopt;

  /// Bytes of the data member before its first row.
  std::uint64_t header_bytes() const noexcept;
  /// Bytes of the data member.
  std::uint64_t data_bytes() const noexcept;
};

/// The offsets of the rows of a metric and of their index.
struct RowsLayout {
  MemberLayout data;
  MemberLayout index;
  std::uint64_t row_bytes = 0;
  std::uint64_t first_row_offset = 0;
  std::vector<CompressedRow> compressed;  ///< empty if rows are plain

  /// The range of row `position` of the index.
  ByteRange row(std::uint64_t position) const;
};

RowsLayout append_rows(ArchiveLayout& archive, const RowsSpec& spec);

/// The sizes that determine the layout of a profile.
struct ContainerSpec {
  std::optional<std::uint64_t> specification_bytes = std::nullopt;
  std::vector<RowsSpec> metrics;
  std::uint64_t anchor_bytes = 0;
};

struct ContainerLayout {
  std::optional<MemberLayout> specification;
  std::vector<RowsLayout> metrics;  ///< in the order of ContainerSpec::metrics
  MemberLayout anchor;
  std::uint64_t file_bytes = 0;

  /// Everything but contents: headers, padding, the end of the archive; by ascending offset.
  std::vector<FileSegment> framing() const;
};

/// The order of docs/formats/cubex.md: specification, data and index of each metric, anchor.
ContainerLayout plan_container(const ContainerSpec& spec);

}  // namespace forebay::cube
