// SPDX-License-Identifier: Apache-2.0
#include "cube/container_layout.hpp"

#include <numeric>
#include <utility>

#include "cube/container.hpp"
#include "cube/tar.hpp"

namespace forebay::cube {

namespace {

constexpr std::uint64_t kEndBytes = 2 * kTarBlockBytes;

/// Whether readers disagree on the offset of the next header: docs/formats/cubex.md, "The extra
/// block".
bool needs_padding(std::uint64_t size_bytes) {
  return size_bytes > 0 && size_bytes % kTarBlockBytes == 0;
}

FileSegment make_segment(std::uint64_t offset, const TarBlock& block) {
  return {offset, {block.begin(), block.end()}};
}

}  // namespace

MemberLayout ArchiveLayout::append(std::string name, std::uint64_t size_bytes) {
  MemberLayout member{.name = std::move(name), .header_offset = end_offset_};
  member.bytes = {end_offset_ + kTarBlockBytes, size_bytes};
  member.end_offset = member.bytes.offset + round_up_to_block(size_bytes);
  if (needs_padding(size_bytes)) member.end_offset += 2 * kTarBlockBytes;
  end_offset_ = member.end_offset;
  return member;
}

std::uint64_t ArchiveLayout::file_bytes() const noexcept { return end_offset_ + kEndBytes; }

FileSegment ArchiveLayout::end() const { return {end_offset_, std::vector<std::byte>(kEndBytes)}; }

FileSegment header_of(const MemberLayout& member) {
  return make_segment(member.header_offset, encode_tar_header(member.name, member.bytes.size));
}

FileSegment padding_of(const MemberLayout& member) {
  if (!needs_padding(member.bytes.size)) {
    return {member.bytes.end(), std::vector<std::byte>(member.end_offset - member.bytes.end())};
  }
  FileSegment segment =
      make_segment(member.bytes.end(), encode_tar_header(kPaddingName, kTarBlockBytes));
  segment.bytes.resize(2 * kTarBlockBytes);
  return segment;
}

std::uint64_t RowsSpec::header_bytes() const noexcept {
  return compressed_bytes ? compressed_header_bytes(compressed_bytes->size()) : kPlainMagic.size();
}

std::uint64_t RowsSpec::data_bytes() const noexcept {
  if (!compressed_bytes) return header_bytes() + row_bytes * row_count;
  return std::accumulate(compressed_bytes->begin(), compressed_bytes->end(), header_bytes());
}

ByteRange RowsLayout::row(std::uint64_t position) const {
  if (compressed.empty()) return {first_row_offset + row_bytes * position, row_bytes};
  return {first_row_offset + compressed[position].offset, compressed[position].size_bytes};
}

RowsLayout append_rows(ArchiveLayout& archive, const RowsSpec& spec) {
  RowsLayout rows;
  rows.data = archive.append(data_name(spec.metric_id), spec.data_bytes());
  rows.index = archive.append(index_name(spec.metric_id), index_bytes(spec.format, spec.row_count));
  rows.row_bytes = spec.row_bytes;
  rows.first_row_offset = rows.data.bytes.offset + spec.header_bytes();
  if (spec.compressed_bytes) rows.compressed = layout_compressed_rows(*spec.compressed_bytes);
  return rows;
}

ContainerLayout plan_container(const ContainerSpec& spec) {
  ArchiveLayout archive;
  ContainerLayout layout;
  if (spec.specification_bytes) {
    layout.specification =
        archive.append(std::string(kSpecificationName), *spec.specification_bytes);
  }
  for (const RowsSpec& rows : spec.metrics)
    layout.metrics.push_back(append_rows(archive, rows));
  layout.anchor = archive.append(std::string(kAnchorName), spec.anchor_bytes);
  layout.file_bytes = archive.file_bytes();
  return layout;
}

std::vector<FileSegment> ContainerLayout::framing() const {
  std::vector<FileSegment> segments;
  const auto add = [&segments](const MemberLayout& member) {
    segments.push_back(header_of(member));
    FileSegment filler = padding_of(member);
    if (!filler.bytes.empty()) segments.push_back(std::move(filler));
  };
  if (specification) add(*specification);
  for (const RowsLayout& rows : metrics) {
    add(rows.data);
    add(rows.index);
  }
  add(anchor);
  segments.push_back(ArchiveLayout(anchor.end_offset).end());
  return segments;
}

}  // namespace forebay::cube
