// SPDX-License-Identifier: Apache-2.0
// A file with a bad sector, or one that became shorter after it was opened.
#include <cerrno>
#include <utility>

#include "storage/faulty.hpp"

namespace forebay::storage {

FaultyFile::FaultyFile(std::unique_ptr<File> inner, FileFaults faults)
    : FileDecorator(std::move(inner)), faults_(faults) {}

Status FaultyFile::check(std::string_view operation, ByteRange touched) const {
  if (!faults_.bad_offset || !touched.contains({*faults_.bad_offset, 1})) return {};
  return failure(system_error(
      {.operation = std::string(operation), .path = path(), .offset_bytes = faults_.bad_offset},
      EIO));
}

Result<std::size_t> FaultyFile::read_at(std::span<std::byte> into, std::uint64_t offset_bytes) {
  const ByteRange end{0, faults_.end_offset.value_or(kAll)};
  const ByteRange wanted = intersect({offset_bytes, into.size()}, end);
  if (const Status checked = check("read", wanted); !checked) {
    return failure(checked.error());
  }
  return FileDecorator::read_at(into.first(wanted.size), offset_bytes);
}

Result<std::size_t> FaultyFile::write_at(std::span<const std::byte> from,
                                         std::uint64_t offset_bytes) {
  if (const Status checked = check("write", {offset_bytes, from.size()}); !checked) {
    return failure(checked.error());
  }
  return FileDecorator::write_at(from, offset_bytes);
}

}  // namespace forebay::storage
