// SPDX-License-Identifier: Apache-2.0
#include "cube/container_layout.hpp"

#include <numeric>
#include <utility>

#include "cube/container.hpp"
#include "cube/tar.hpp"

namespace forebay::cube {

namespace {

constexpr std::uint64_t kEndBytes = 2 * kTarBlockBytes;

/// Whether readers disagree where the next header is: see the page, "The extra block".
bool needs_padding(std::uint64_t size_bytes) {
  return size_bytes > 0 && size_bytes % kTarBlockBytes == 0;
}

Piece piece_of(std::uint64_t offset, const TarBlock& block) {
  return {offset, {block.begin(), block.end()}};
}

}  // namespace

MemberPlace ArchiveLayout::append(std::string name, std::uint64_t size_bytes) {
  MemberPlace place{.name = std::move(name), .header_offset = end_offset_};
  place.bytes = {end_offset_ + kTarBlockBytes, size_bytes};
  place.end_offset = place.bytes.offset + in_blocks(size_bytes);
  if (needs_padding(size_bytes)) place.end_offset += 2 * kTarBlockBytes;
  end_offset_ = place.end_offset;
  return place;
}

std::uint64_t ArchiveLayout::file_bytes() const noexcept { return end_offset_ + kEndBytes; }

Piece ArchiveLayout::end() const { return {end_offset_, std::vector<std::byte>(kEndBytes)}; }

Piece header_of(const MemberPlace& place) {
  return piece_of(place.header_offset, encode_tar_header(place.name, place.bytes.size));
}

Piece filler_of(const MemberPlace& place) {
  if (!needs_padding(place.bytes.size)) {
    return {place.bytes.end(), std::vector<std::byte>(place.end_offset - place.bytes.end())};
  }
  Piece piece = piece_of(place.bytes.end(), encode_tar_header(kPaddingName, kTarBlockBytes));
  piece.bytes.resize(2 * kTarBlockBytes);
  return piece;
}

std::uint64_t RowsShape::head_bytes() const noexcept {
  return packed_bytes ? packed_head_bytes(packed_bytes->size()) : kPlainMark.size();
}

std::uint64_t RowsShape::data_bytes() const noexcept {
  if (!packed_bytes) return head_bytes() + row_bytes * row_count;
  return std::accumulate(packed_bytes->begin(), packed_bytes->end(), head_bytes());
}

ByteRange RowsPlace::row(std::uint64_t place) const {
  if (packed.empty()) return {first_row_offset + row_bytes * place, row_bytes};
  return {first_row_offset + packed[place].offset, packed[place].size_bytes};
}

RowsPlace append_rows(ArchiveLayout& archive, const RowsShape& shape) {
  RowsPlace place;
  place.data = archive.append(data_name(shape.metric_id), shape.data_bytes());
  place.index =
      archive.append(index_name(shape.metric_id), index_bytes(shape.format, shape.row_count));
  place.row_bytes = shape.row_bytes;
  place.first_row_offset = place.data.bytes.offset + shape.head_bytes();
  if (shape.packed_bytes) place.packed = place_packed_rows(*shape.packed_bytes);
  return place;
}

ContainerLayout plan_container(const ContainerShape& shape) {
  ArchiveLayout archive;
  ContainerLayout layout;
  if (shape.specification_bytes) {
    layout.specification =
        archive.append(std::string(kSpecificationName), *shape.specification_bytes);
  }
  for (const RowsShape& rows : shape.metrics)
    layout.metrics.push_back(append_rows(archive, rows));
  layout.anchor = archive.append(std::string(kAnchorName), shape.anchor_bytes);
  layout.file_bytes = archive.file_bytes();
  return layout;
}

std::vector<Piece> ContainerLayout::frame() const {
  std::vector<Piece> pieces;
  const auto add = [&pieces](const MemberPlace& place) {
    pieces.push_back(header_of(place));
    Piece filler = filler_of(place);
    if (!filler.bytes.empty()) pieces.push_back(std::move(filler));
  };
  if (specification) add(*specification);
  for (const RowsPlace& rows : metrics) {
    add(rows.data);
    add(rows.index);
  }
  add(anchor);
  pieces.push_back(ArchiveLayout(anchor.end_offset).end());
  return pieces;
}

}  // namespace forebay::cube
