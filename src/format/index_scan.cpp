// SPDX-License-Identifier: Apache-2.0
#include "format/index_scan.hpp"

#include <algorithm>
#include <cstring>

#include "format/file_bytes.hpp"

namespace forebay::format {
namespace {

/// So much is read at once; indexes may be longer.
constexpr std::uint64_t kReadBytes = 4_MiB;

bool begins_like_an_index(std::span<const std::byte> page) noexcept {
  std::uint64_t magic = 0;
  if (page.size() < sizeof magic) return false;
  std::memcpy(&magic, page.data(), sizeof magic);
  return magic == kIndexMagic;
}

/// The index at this offset, if there is a whole one of this file.
Result<std::optional<Index>> index_at(storage::File& file,
                                      std::uint64_t offset,
                                      const DataFileName& name) {
  const auto page = read_range(file, {offset, kPageBytes});
  if (!page) return tl::unexpected(page.error());
  const auto head = decode_index_head(*page, file.path());
  const auto size = file.size();
  if (!size) return tl::unexpected(size.error());
  const bool is_plausible = head && head->offset == offset && head->bytes <= *size - offset &&
                            DataFileName{head->place.group, head->place.file} == name;
  if (!is_plausible) return std::nullopt;
  const auto bytes = read_range(file, {offset, head->bytes});
  if (!bytes) return tl::unexpected(bytes.error());
  auto index = Index::decode(*bytes, offset, file.path());
  if (index) return std::move(*index);
  if (index.error().kind() == ErrorClass::kUnsupported) return tl::unexpected(index.error());
  return std::nullopt;
}

}  // namespace

Result<std::vector<Index>> scan_indexes(storage::File& file,
                                        const DataFileName& name,
                                        const std::function<bool(std::uint64_t bytes)>& has_read) {
  std::vector<Index> found;
  const auto size = file.size();
  if (!size) return tl::unexpected(size.error());
  for (std::uint64_t offset = kPageBytes; offset < *size; offset += kReadBytes) {
    const auto bytes = read_range(file, {offset, kReadBytes});
    if (!bytes) return tl::unexpected(bytes.error());
    for (std::uint64_t at = 0; at < bytes->size(); at += kPageBytes) {
      if (!begins_like_an_index(std::span(*bytes).subspan(at))) continue;
      auto index = index_at(file, offset + at, name);
      if (!index) return tl::unexpected(index.error());
      if (*index) found.push_back(std::move(**index));
    }
    if (!has_read(bytes->size()))
      return failure({.kind = ErrorClass::kCancelled,
                      .operation = "look for indexes in",
                      .path = file.path()});
  }
  return found;
}

}  // namespace forebay::format
