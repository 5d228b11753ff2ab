// SPDX-License-Identifier: Apache-2.0
// A vector of bytes with the interface of a file.
#include "storage/memory_file.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace forebay::storage {

MemoryFile::MemoryFile(std::string path, std::vector<std::byte> content)
    : path_(std::move(path)), content_(std::move(content)) {}

Result<std::uint64_t> MemoryFile::size() const {
  const std::lock_guard lock(mutex_);
  return content_.size();
}

Result<std::size_t> MemoryFile::read_at(std::span<std::byte> into, std::uint64_t offset_bytes) {
  const std::lock_guard lock(mutex_);
  if (offset_bytes >= content_.size()) return 0;
  const std::size_t count = std::min<std::uint64_t>(into.size(), content_.size() - offset_bytes);
  std::copy_n(content_.data() + offset_bytes, count, into.data());
  return count;
}

Result<std::size_t> MemoryFile::write_at(std::span<const std::byte> from,
                                         std::uint64_t offset_bytes) {
  const std::lock_guard lock(mutex_);
  const ByteRange written{offset_bytes, from.size()};
  if (const Status extended = extend_to(written.end(), "write"); !extended) {
    return failure(extended.error());
  }
  std::ranges::copy(from, content_.data() + offset_bytes);
  return from.size();
}

Status MemoryFile::allocate(ByteRange range) {
  const std::lock_guard lock(mutex_);
  return extend_to(range.end(), "allocate space for");
}

Status MemoryFile::truncate(std::uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  if (size_bytes > content_.size()) return extend_to(size_bytes, "truncate");
  content_.resize(size_bytes);
  return {};
}

std::optional<double> MemoryFile::cached_fraction(ByteRange range) const {
  const std::lock_guard lock(mutex_);
  if (intersect(range, {0, content_.size()}).empty()) return std::nullopt;
  return 1.0;
}

Status MemoryFile::extend_to(std::uint64_t size_bytes, std::string_view operation) {
  if (size_bytes <= content_.size()) return {};
  try {
    content_.resize(size_bytes);
  } catch (const std::exception&) {  // length_error or bad_alloc: memory is this file's disk
    return failure({.kind = ErrorClass::kNoSpace,
                    .operation = std::string(operation),
                    .path = path_,
                    .cause = "no memory for " + std::to_string(size_bytes) + " bytes"});
  }
  return {};
}

}  // namespace forebay::storage
