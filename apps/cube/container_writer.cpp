// SPDX-License-Identifier: Apache-2.0
#include "cube/container_writer.hpp"

#include "cube/mark.hpp"

namespace forebay::cube {

namespace {

/// What data begins with.
std::vector<std::byte> head_of(const RowsPlace& place, const Index& index) {
  const bool is_packed = place.first_row_offset - place.data.bytes.offset != kPlainMark.size();
  if (is_packed) return encode_packed_head(place.packed, place.row_bytes, index.order);
  std::vector<std::byte> head(kPlainMark.size());
  put_mark(kPlainMark, head);
  return head;
}

}  // namespace

Status write_piece(Sink& sink, const Piece& piece) {
  if (piece.bytes.empty()) return {};
  return sink.write(piece.offset, piece.bytes);
}

Status write_member(Sink& sink, const MemberPlace& place, std::span<const std::byte> content) {
  if (const Status wrote = write_piece(sink, header_of(place)); !wrote) return wrote;
  if (const Status wrote = sink.write(place.bytes.offset, content); !wrote) return wrote;
  return write_piece(sink, filler_of(place));
}

Status write_around_rows(Sink& sink, const RowsPlace& place, const Index& index) {
  if (const Status wrote = write_piece(sink, header_of(place.data)); !wrote) return wrote;
  const auto head = head_of(place, index);
  if (const Status wrote = sink.write(place.data.bytes.offset, head); !wrote) return wrote;
  if (const Status wrote = write_piece(sink, filler_of(place.data)); !wrote) return wrote;
  return write_member(sink, place.index, encode_index(index));
}

}  // namespace forebay::cube
