// SPDX-License-Identifier: Apache-2.0
#include "format/index_scan.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "format/catalog.hpp"
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

/// The index at this offset, if there is a whole one of this file that is wanted.
Result<std::optional<Index>> index_at(storage::File& file,
                                      std::uint64_t offset,
                                      const DataFileName& name,
                                      const IndexSeeker& seeker) {
  const auto page = read_range(file, {offset, kPageBytes});
  if (!page) return tl::unexpected(page.error());
  const auto head = decode_index_head(*page, file.path());
  const auto size = file.size();
  if (!size) return tl::unexpected(size.error());
  const bool is_plausible = head && head->offset == offset && head->bytes <= *size - offset &&
                            DataFileName{head->place.group, head->place.file} == name;
  if (!is_plausible || !seeker.is_wanted(*head)) return std::nullopt;
  const auto bytes = read_range(file, {offset, head->bytes});
  if (!bytes) return tl::unexpected(bytes.error());
  auto index = Index::decode(*bytes, offset, file.path());
  if (index) return std::move(*index);
  if (index.error().kind() == ErrorClass::kUnsupported) return tl::unexpected(index.error());
  return std::nullopt;
}

/// Of `bytes`, which lie at `offset`.
Status scan_pages(storage::File& file,
                  std::span<const std::byte> bytes,
                  std::uint64_t offset,
                  const DataFileName& name,
                  const IndexSeeker& seeker) {
  for (std::uint64_t at = 0; at < bytes.size(); at += kPageBytes) {
    if (!begins_like_an_index(bytes.subspan(at))) continue;
    const auto index = index_at(file, offset + at, name, seeker);
    if (index && *index) seeker.found(**index);
    if (index) continue;
    if (index.error().kind() == ErrorClass::kUnsupported) return tl::unexpected(index.error());
    seeker.failed(index.error());
  }
  return {};
}

/// Where so much cannot be read at once, most of its pages may be.
Status scan_singly(storage::File& file,
                   ByteRange range,
                   const DataFileName& name,
                   const IndexSeeker& seeker) {
  for (std::uint64_t offset = range.offset; offset < range.end(); offset += kPageBytes) {
    const auto page = read_range(file, {offset, kPageBytes});
    if (!page) continue;
    if (Status done = scan_pages(file, *page, offset, name, seeker); !done) return done;
  }
  return {};
}

}  // namespace

Status scan_indexes(storage::File& file, const DataFileName& name, const IndexSeeker& seeker) {
  const auto size = file.size();
  if (!size) return tl::unexpected(size.error());
  for (std::uint64_t offset = kPageBytes; offset < *size; offset += kReadBytes) {
    const ByteRange range = {offset, std::min(kReadBytes, *size - offset)};
    const auto bytes = read_range(file, range);
    if (!bytes) seeker.failed(bytes.error());
    if (Status done = bytes ? scan_pages(file, *bytes, offset, name, seeker)
                            : scan_singly(file, range, name, seeker);
        !done)
      return done;
    if (!seeker.has_read(range.size))
      return failure({.kind = ErrorClass::kCancelled,
                      .operation = "look for indexes in",
                      .path = file.path()});
  }
  return {};
}

Result<std::vector<DataFileName>> list_data_files(const std::string& folder) {
  std::vector<DataFileName> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (const auto name = data_file_named(entry->path().filename().string()))
      names.push_back(*name);
  if (error)
    return tl::unexpected(system_error({.operation = "list", .path = folder}, error.value()));
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> find_file_with_index(const std::string& folder,
                                                const DatasetId& dataset) {
  bool is_found = false;
  const IndexSeeker seeker = {
      .has_read = [&](std::uint64_t) { return !is_found; },
      .is_wanted = [&](const IndexHead& head) { return head.place.dataset == dataset; },
      .found = [&](const Index&) { is_found = true; },
      .failed = [](const Error&) {}};
  const auto names = list_data_files(folder);
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    const std::string path = data_path(folder, (*names)[i]);
    const auto file = storage::open_file(path);
    if (file) static_cast<void>(scan_indexes(**file, (*names)[i], seeker));
    if (is_found) return path;
  }
  return std::nullopt;
}

}  // namespace forebay::format
