// SPDX-License-Identifier: Apache-2.0
#include "cube/index.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cube/magic.hpp"

namespace forebay::cube {

namespace {

constexpr std::size_t kProbeOffset = 11;
constexpr std::size_t kVersionOffset = 15;
constexpr std::size_t kFormatOffset = 17;
constexpr std::size_t kCountOffset = 18;
constexpr std::size_t kRowsOffset = 22;
constexpr std::uint32_t kProbe = 1;
constexpr std::uint16_t kVersion = 0;

tl::unexpected<Error> damage(std::uint64_t offset, std::string cause) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read an index",
                  .offset_bytes = offset,
                  .cause = std::move(cause)});
}

std::optional<ByteOrder> order_of(std::span<const std::byte> bytes) {
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    if (load<std::uint32_t>(bytes.subspan(kProbeOffset), order) == kProbe) return order;
  }
  return std::nullopt;
}

Status read_rows(std::span<const std::byte> bytes, std::uint32_t row_limit, Index& index) {
  if (bytes.size() < kRowsOffset) return damage(bytes.size(), "the index ends before its count");
  const auto count = load<std::uint32_t>(bytes.subspan(kCountOffset), index.order);
  const std::uint64_t room = (bytes.size() - kRowsOffset) / sizeof(std::uint32_t);
  if (count > row_limit || count > room) {
    return damage(kCountOffset,
                  fmt::format("the index has {} rows, but there are {} call paths and "
                              "room for {} rows",
                              count, row_limit, room));
  }
  std::vector<std::uint32_t> rows(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t offset = kRowsOffset + sizeof(std::uint32_t) * i;
    rows[i] = load<std::uint32_t>(bytes.subspan(offset), index.order);
    if (rows[i] >= row_limit)
      return damage(offset, fmt::format("row {} is not one of {} call paths", rows[i], row_limit));
    if (i > 0 && rows[i] <= rows[i - 1]) {
      return damage(offset, fmt::format("row {} follows row {}; row numbers must ascend", rows[i],
                                        rows[i - 1]));
    }
  }
  index.rows = std::move(rows);
  return {};
}

}  // namespace

std::optional<std::uint64_t> RowNumbers::index_of(std::uint32_t row) const {
  if (listed_.empty()) return row < dense_count_ ? std::optional<std::uint64_t>(row) : std::nullopt;
  const auto found = std::ranges::lower_bound(listed_, row);
  if (found == listed_.end() || *found != row) return std::nullopt;
  return static_cast<std::uint64_t>(found - listed_.begin());
}

std::string_view name_of(IndexFormat format) noexcept {
  return format == IndexFormat::kSparse ? "sparse" : "dense";
}

std::vector<std::byte> encode_index(const Index& index) {
  std::vector<std::byte> bytes(index_bytes(index.format, index.rows.size()));
  const std::span<std::byte> all(bytes);
  write_magic(kIndexMagic, all);
  store(kProbe, all.subspan(kProbeOffset), index.order);
  store(kVersion, all.subspan(kVersionOffset), index.order);
  all[kFormatOffset] = static_cast<std::byte>(index.format);
  if (index.format == IndexFormat::kDense) return bytes;
  store(static_cast<std::uint32_t>(index.rows.size()), all.subspan(kCountOffset), index.order);
  for (std::size_t i = 0; i < index.rows.size(); ++i)
    store(index.rows[i], all.subspan(kRowsOffset + sizeof(std::uint32_t) * i), index.order);
  return bytes;
}

Result<Index> decode_index(std::span<const std::byte> bytes, std::uint32_t row_limit) {
  if (!has_magic(kIndexMagic, bytes)) return damage(0, "the index does not begin with CUBEX.INDEX");
  if (bytes.size() < kIndexHeaderBytes) return damage(bytes.size(), "the index ends in its header");
  Index index;
  const std::optional<ByteOrder> order = order_of(bytes);
  if (!order) return damage(kProbeOffset, "the byte order probe is not 1 in either byte order");
  index.order = *order;
  const auto version = load<std::uint16_t>(bytes.subspan(kVersionOffset), index.order);
  if (version != kVersion) {
    return damage(kVersionOffset,
                  fmt::format("the index has version {}, not {}", version, kVersion));
  }
  const auto format = static_cast<unsigned>(bytes[kFormatOffset]);
  if (format == static_cast<unsigned>(IndexFormat::kDense)) {
    index.format = IndexFormat::kDense;
    index.rows = RowNumbers::dense(row_limit);
    return index;
  }
  if (format != static_cast<unsigned>(IndexFormat::kSparse)) {
    return damage(kFormatOffset,
                  fmt::format("the index has format {}, neither 1 (sparse) nor 3 (dense)", format));
  }
  if (const Status read = read_rows(bytes, row_limit, index); !read) {
    return failure(read.error());
  }
  return index;
}

}  // namespace forebay::cube
