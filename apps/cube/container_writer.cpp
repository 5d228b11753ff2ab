// SPDX-License-Identifier: Apache-2.0
#include "cube/container_writer.hpp"

#include "cube/magic.hpp"

namespace forebay::cube {

namespace {

/// The beginning of the data member: the magic, or magic and table.
std::vector<std::byte> head_of(const RowsLayout& rows, const Index& index) {
  const bool is_compressed = rows.first_row_offset - rows.data.bytes.offset != kPlainMagic.size();
  if (is_compressed) return encode_row_table(rows.compressed, rows.row_bytes, index.order);
  std::vector<std::byte> head(kPlainMagic.size());
  write_magic(kPlainMagic, head);
  return head;
}

}  // namespace

Status write_segment(Sink& sink, const FileSegment& segment) {
  if (segment.bytes.empty()) return {};
  return sink.write(segment.offset, segment.bytes);
}

Status write_member(Sink& sink, const MemberLayout& member, std::span<const std::byte> content) {
  if (const Status wrote = write_segment(sink, header_of(member)); !wrote) return wrote;
  if (const Status wrote = sink.write(member.bytes.offset, content); !wrote) return wrote;
  return write_segment(sink, padding_of(member));
}

Status write_rows_framing(Sink& sink, const RowsLayout& rows, const Index& index) {
  if (const Status wrote = write_segment(sink, header_of(rows.data)); !wrote) return wrote;
  const auto head = head_of(rows, index);
  if (const Status wrote = sink.write(rows.data.bytes.offset, head); !wrote) return wrote;
  if (const Status wrote = write_segment(sink, padding_of(rows.data)); !wrote) return wrote;
  return write_member(sink, rows.index, encode_index(index));
}

}  // namespace forebay::cube
