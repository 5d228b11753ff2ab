// SPDX-License-Identifier: Apache-2.0
#include "cube/profile.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cube/compression.hpp"
#include "cube/magic.hpp"

namespace forebay::cube {

namespace {

tl::unexpected<Error> fail(const RandomAccessFile& source,
                           ErrorClass kind,
                           std::uint64_t offset,
                           std::string cause) {
  return failure({.kind = kind,
                  .operation = "read",
                  .path = source.path(),
                  .offset_bytes = offset,
                  .cause = std::move(cause)});
}

Result<std::vector<std::byte>> bytes_at(const RandomAccessFile& source, ByteRange range) {
  std::vector<std::byte> bytes(range.size);
  if (const Status read = source.read(range.offset, bytes); !read) {
    return failure(read.error());
  }
  return bytes;
}

Result<std::string> text_at(const RandomAccessFile& source, ByteRange range) {
  std::string text(range.size, '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  if (const Status read = source.read(range.offset, bytes); !read) {
    return failure(read.error());
  }
  return text;
}

/// Reads the index of a metric, but no more of the member than a valid index can have.
Result<Index> read_index(const RandomAccessFile& source,
                         const Member& member,
                         std::uint32_t row_limit) {
  const std::uint64_t most = index_bytes(IndexFormat::kSparse, row_limit);
  const auto bytes =
      bytes_at(source, {member.bytes.offset, std::min<std::uint64_t>(member.bytes.size, most)});
  if (!bytes) return failure(bytes.error());
  auto index = decode_index(*bytes, row_limit);
  if (!index) {
    return failure(rebase_error(index.error(), source.path(), member.bytes.offset));
  }
  return index;
}

Status locate_plain_rows(const RandomAccessFile& source, StoredRows& rows) {
  const std::uint64_t room = rows.data.size - kPlainMagic.size();
  const std::uint64_t count = rows.index.rows.size();
  rows.first_row_offset = rows.data.offset + kPlainMagic.size();
  if (count > 0 && (rows.row_bytes == 0 || room / rows.row_bytes < count)) {
    return fail(source, ErrorClass::kShortFile, rows.data.end(),
                fmt::format("{} rows of {} bytes do not fit in {} bytes of data", count,
                            rows.row_bytes, rows.data.size));
  }
  rows.trailing_bytes = room - rows.row_bytes * count;
  return {};
}

Status locate_compressed_rows(const RandomAccessFile& source, StoredRows& rows) {
  const ByteRange& data = rows.data;
  rows.is_compressed = true;
  std::array<std::byte, kTableCountBytes> count_bytes{};
  const std::uint64_t count_offset = data.offset + kCompressedMagic.size();
  if (data.size < compressed_header_bytes(0)) {
    return fail(source, ErrorClass::kShortFile, data.end(), "compressed data ends in its header");
  }
  if (const Status read = source.read(count_offset, count_bytes); !read) return read;
  const auto count = load<std::uint64_t>(count_bytes, rows.index.order);
  if (count > rows.index.rows.size()) {
    return fail(source, ErrorClass::kDamage, count_offset,
                fmt::format("the table has {} rows, the index {}", count, rows.index.rows.size()));
  }
  if (data.size < compressed_header_bytes(count)) {
    return fail(source, ErrorClass::kShortFile, data.end(),
                fmt::format("compressed data ends in its table of {} rows", count));
  }
  const std::uint64_t table = count_offset + kTableCountBytes;
  const auto entries = bytes_at(source, {table, count * kTableEntryBytes});
  if (!entries) return failure(entries.error());
  rows.first_row_offset = data.offset + compressed_header_bytes(count);
  auto compressed = decode_row_table(*entries, {.row_count = rows.index.rows.size(),
                                                .row_bytes = rows.row_bytes,
                                                .payload_bytes = data.end() - rows.first_row_offset,
                                                .order = rows.index.order});
  if (!compressed) return failure(rebase_error(compressed.error(), source.path(), table));
  rows.compressed = std::move(*compressed);
  return {};
}

Status locate_rows(const RandomAccessFile& source, StoredRows& rows) {
  std::array<std::byte, kCompressedMagic.size()> magic{};
  const std::size_t size_bytes = std::min<std::uint64_t>(magic.size(), rows.data.size);
  const auto head = std::span(magic).first(size_bytes);
  if (const Status read = source.read(rows.data.offset, head); !read) return read;
  if (has_magic(kPlainMagic, head)) return locate_plain_rows(source, rows);
  if (has_magic(kCompressedMagic, head)) return locate_compressed_rows(source, rows);
  return fail(source, ErrorClass::kDamage, rows.data.offset,
              "data begins with neither CUBEX.DATA nor ZCUBEX.DATA");
}

}  // namespace

std::optional<std::uint64_t> StoredRows::index_of(std::uint32_t row) const {
  return index.rows.index_of(row);
}

ByteRange StoredRows::row(std::uint64_t position) const {
  if (!is_compressed) return {first_row_offset + row_bytes * position, row_bytes};
  const CompressedRow compressed_row = compressed.at(position);
  return {first_row_offset + compressed_row.offset, compressed_row.size_bytes};
}

Result<Anchor> read_anchor(const RandomAccessFile& source, const Container& container) {
  const Member* const member = container.find(kAnchorName);
  if (member == nullptr) {
    return fail(source, ErrorClass::kDamage, 0,
                "no member anchor.xml; the file is not a Cube profile");
  }
  auto content = text_at(source, member->bytes);
  if (!content) return failure(content.error());
  const auto in_member = [&](const Error& error) {
    return failure(rebase_error(error, source.path(), member->bytes.offset));
  };
  auto text = decompress_anchor(std::move(*content));
  if (!text) return in_member(text.error());
  const bool was_compressed = text->size() != member->bytes.size;
  auto anchor = parse_anchor(std::move(*text));
  if (anchor) return anchor;
  if (!was_compressed) return in_member(anchor.error());
  // An offset in a decompressed text is not an offset in the file.
  const Error& error = anchor.error();
  return fail(source, error.kind(), member->bytes.offset,
              fmt::format("{}; at byte {} of the decompressed text", error.cause(),
                          error.offset_bytes().value_or(0)));
}

Result<std::optional<StoredRows>> find_rows(const RandomAccessFile& source,
                                            const Container& container,
                                            const Anchor& anchor,
                                            const Metric& metric) {
  if (!is_measured(metric.kind)) return std::optional<StoredRows>{};
  const Member* const index = container.find(index_name(metric.id));
  const Member* const data = container.find(data_name(metric.id));
  if (index == nullptr && data == nullptr) return std::optional<StoredRows>{};
  if (index == nullptr || data == nullptr) {
    const Member& present = index == nullptr ? *data : *index;
    return fail(
        source, ErrorClass::kDamage, present.header_offset,
        fmt::format("metric {} ({}) has {}, but no {}", metric.id, metric.unique_name, present.name,
                    index == nullptr ? index_name(metric.id) : data_name(metric.id)));
  }
  StoredRows rows;
  auto read = read_index(source, *index, anchor.call_tree.size());
  if (!read) return failure(read.error());
  rows.index = std::move(*read);
  rows.type = metric.type;
  rows.data = data->bytes;
  rows.row_bytes = anchor.row_bytes(metric);
  if (const Status placed = locate_rows(source, rows); !placed) {
    return failure(placed.error());
  }
  return std::optional(std::move(rows));
}

Status read_stored_row(const RandomAccessFile& source,
                       const StoredRows& rows,
                       std::uint64_t position,
                       std::span<std::byte> into,
                       RowScratch& scratch) {
  const ByteRange range = rows.row(position);
  if (range.empty()) {
    std::ranges::fill(into, std::byte{0});
    return {};
  }
  if (rows.is_compressed) {
    scratch.compressed.resize(range.size);
    if (const Status read = source.read(range.offset, scratch.compressed); !read) return read;
    if (const Status unpacked = inflate_row(scratch.compressed, into); !unpacked) {
      return failure(rebase_error(unpacked.error(), source.path(), range.offset));
    }
  } else if (const Status read = source.read(range.offset, into); !read) {
    return read;
  }
  swap_value_bytes(rows.type, rows.index.order, ByteOrder::kLittle, into);
  return {};
}

Result<Profile> Profile::open(std::shared_ptr<const RandomAccessFile> source) {
  Profile profile;
  profile.source_ = std::move(source);
  auto container = read_container(*profile.source_);
  if (!container) return failure(container.error());
  profile.container_ = std::move(*container);
  auto anchor = read_anchor(*profile.source_, profile.container_);
  if (!anchor) return failure(anchor.error());
  profile.anchor_ = std::move(*anchor);
  for (const Metric& metric : profile.anchor_.metrics) {
    auto rows = find_rows(*profile.source_, profile.container_, profile.anchor_, metric);
    if (!rows) return failure(rows.error());
    profile.rows_.push_back(std::move(*rows));
  }
  return profile;
}

Status Profile::read_row(std::size_t metric,
                         std::uint32_t row,
                         std::span<std::byte> into,
                         RowScratch& scratch) const {
  const std::optional<StoredRows>& rows = rows_[metric];
  const auto position = rows ? rows->index_of(row) : std::nullopt;
  if (position) {
    return read_stored_row(*source_, *rows, *position, into, scratch);
  }
  std::ranges::fill(into, std::byte{0});
  return {};
}

void Profile::prefetch_row(std::size_t metric, std::uint32_t row) const {
  const std::optional<StoredRows>& rows = rows_[metric];
  const auto position = rows ? rows->index_of(row) : std::nullopt;
  if (position) source_->prefetch(rows->row(*position));
}

Result<std::string> Profile::text_of(const Member& member) const {
  return text_at(*source_, member.bytes);
}

}  // namespace forebay::cube
