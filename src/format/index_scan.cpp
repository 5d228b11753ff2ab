// SPDX-License-Identifier: Apache-2.0
#include "format/index_scan.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "format/catalog.hpp"
#include "format/read_range.hpp"

namespace forebay::format {
namespace {

/// Bytes of one read; indexes may be longer.
constexpr std::uint64_t kScanReadBytes = 4_MiB;

bool has_index_magic(std::span<const std::byte> page) noexcept {
  std::uint64_t magic = 0;
  if (page.size() < sizeof magic) return false;
  std::memcpy(&magic, page.data(), sizeof magic);
  return magic == kIndexMagic;
}

/// The index at this offset, if a valid one of this file is there and should be decoded.
Result<std::optional<Index>> read_index_at(storage::File& file,
                                           std::uint64_t offset,
                                           const DataFileName& name,
                                           const IndexVisitor& visitor) {
  const auto page = read_range(file, {offset, kPageBytes});
  if (!page) return tl::unexpected(page.error());
  const auto head = decode_index_header(*page, file.path());
  const auto size = file.size();
  if (!size) return tl::unexpected(size.error());
  const bool is_plausible = head && head->offset == offset && head->bytes <= *size - offset &&
                            DataFileName{head->id.group, head->id.file} == name;
  if (!is_plausible || !visitor.should_decode(*head)) return std::nullopt;
  const auto bytes = read_range(file, {offset, head->bytes});
  if (!bytes) return tl::unexpected(bytes.error());
  auto index = Index::decode(*bytes, offset, file.path());
  if (index) return std::move(*index);
  if (index.error().kind() == ErrorClass::kUnsupported) return tl::unexpected(index.error());
  return std::nullopt;
}

/// Scans `bytes`, which are at `offset` of the file.
Status scan_pages(storage::File& file,
                  std::span<const std::byte> bytes,
                  std::uint64_t offset,
                  const DataFileName& name,
                  const IndexVisitor& visitor) {
  for (std::uint64_t at = 0; at < bytes.size(); at += kPageBytes) {
    if (!has_index_magic(bytes.subspan(at))) continue;
    const auto index = read_index_at(file, offset + at, name, visitor);
    if (index && *index) visitor.on_index(**index);
    if (index) continue;
    if (index.error().kind() == ErrorClass::kUnsupported) return tl::unexpected(index.error());
    visitor.on_error(index.error());
  }
  return {};
}

/// If a large read fails, most of its pages may still be readable.
Status scan_page_by_page(storage::File& file,
                         ByteRange range,
                         const DataFileName& name,
                         const IndexVisitor& visitor) {
  for (std::uint64_t offset = range.offset; offset < range.end(); offset += kPageBytes) {
    const auto page = read_range(file, {offset, kPageBytes});
    if (!page) continue;
    if (Status done = scan_pages(file, *page, offset, name, visitor); !done) return done;
  }
  return {};
}

}  // namespace

Status scan_indexes(storage::File& file, const DataFileName& name, const IndexVisitor& visitor) {
  const auto size = file.size();
  if (!size) return tl::unexpected(size.error());
  for (std::uint64_t offset = kPageBytes; offset < *size; offset += kScanReadBytes) {
    const ByteRange range = {offset, std::min(kScanReadBytes, *size - offset)};
    const auto bytes = read_range(file, range);
    if (!bytes) visitor.on_error(bytes.error());
    if (Status done = bytes ? scan_pages(file, *bytes, offset, name, visitor)
                            : scan_page_by_page(file, range, name, visitor);
        !done)
      return done;
    if (!visitor.on_bytes_read(range.size))
      return failure({.kind = ErrorClass::kCancelled,
                      .operation = "search for indexes in",
                      .path = file.path()});
  }
  return {};
}

Result<std::vector<DataFileName>> list_data_files(const std::string& directory) {
  std::vector<DataFileName> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    if (const auto name = parse_data_file_name(entry->path().filename().string()))
      names.push_back(*name);
  if (error)
    return tl::unexpected(system_error({.operation = "list", .path = directory}, error.value()));
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> find_file_with_index(const std::string& directory,
                                                const DatasetId& dataset) {
  bool is_found = false;
  const IndexVisitor visitor = {
      .on_bytes_read = [&](std::uint64_t) { return !is_found; },
      .should_decode = [&](const IndexHeader& head) { return head.id.dataset == dataset; },
      .on_index = [&](const Index&) { is_found = true; },
      .on_error = [](const Error&) {}};
  const auto names = list_data_files(directory);
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    const std::string path = data_path(directory, (*names)[i]);
    const auto file = storage::open_file(path);
    if (file) static_cast<void>(scan_indexes(**file, (*names)[i], visitor));
    if (is_found) return path;
  }
  return std::nullopt;
}

}  // namespace forebay::format
