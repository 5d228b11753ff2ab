// SPDX-License-Identifier: Apache-2.0
#include "flow/part_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include <fmt/format.h>

#include "command/atomic_file.hpp"
#include "flow/fingerprint.hpp"

namespace forebay::flow {

namespace {

/// Maximum number of arrays that an Error for a missing array lists.
constexpr std::size_t kArraysListedMax = 20;

/// Precedes the values of an array.
struct ArrayHeader {
  std::array<char, kArrayNameBytesMax> name{};  ///< padded with zeros
  std::uint32_t kind = 0;
  std::uint32_t width = 0;
  std::uint64_t rows = 0;
  std::uint64_t fingerprint = 0;
};
static_assert(sizeof(ArrayHeader) == 56);

ArrayHeader make_header(const std::string& name, const ArrayShape& shape) {
  ArrayHeader header{
      .kind = static_cast<std::uint32_t>(shape.type), .width = shape.width, .rows = shape.rows};
  std::ranges::copy(name.substr(0, kArrayNameBytesMax), header.name.begin());
  return header;
}

/// Covers everything except the header's member `fingerprint`.
std::uint64_t fingerprint_of(const PartFile& file,
                             ArrayHeader header,
                             std::span<const std::byte> bytes) {
  header.fingerprint = 0;
  Fingerprint hash;
  hash.add(file.step);
  hash.add(file.part);
  hash.add(std::as_bytes(std::span(&header, 1)));
  hash.add(bytes);
  return hash.value();
}

tl::unexpected<Error> damage(const PartFile& file, std::uint64_t offset, std::string cause) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read part",
                  .path = file.path,
                  .offset_bytes = offset,
                  .cause = std::move(cause)});
}

/// An open file and its read position.
struct OpenFile {
  std::ifstream stream;
  std::uint64_t size_bytes = 0;
  std::uint64_t offset = 0;

  std::uint64_t remaining_bytes() const { return size_bytes - offset; }
};

Result<OpenFile> open(const PartFile& file) {
  OpenFile opened;
  errno = 0;
  opened.stream.open(file.path, std::ios::binary | std::ios::ate);
  if (!opened.stream) {
    return failure(
        system_error({.operation = "open", .path = file.path}, errno == 0 ? EIO : errno));
  }
  opened.size_bytes = static_cast<std::uint64_t>(opened.stream.tellg());
  opened.stream.seekg(0);
  return opened;
}

Status read_bytes(const PartFile& file, OpenFile& opened, std::span<std::byte> into) {
  errno = 0;
  opened.stream.read(reinterpret_cast<char*>(into.data()),
                     static_cast<std::streamsize>(into.size()));
  if (!opened.stream) {
    return failure(
        system_error({.operation = "read", .path = file.path, .offset_bytes = opened.offset},
                     errno == 0 ? EIO : errno));
  }
  opened.offset += into.size();
  return {};
}

/// Reads a header and checks that its values are inside the file.
Result<ArrayHeader> read_header(const PartFile& file, OpenFile& opened) {
  const std::uint64_t offset = opened.offset;
  ArrayHeader header;
  if (opened.remaining_bytes() < sizeof(header))
    return damage(file, offset, "the file ends inside an array");
  const Status done = read_bytes(file, opened, std::as_writable_bytes(std::span(&header, 1)));
  if (!done) return failure(done.error());
  const bool is_known = header.kind >= static_cast<std::uint32_t>(ScalarType::kU32) &&
                        header.kind <= static_cast<std::uint32_t>(ScalarType::kF64);
  if (!is_known || header.width == 0)
    return damage(file, offset, "the type of an array is unknown");
  const std::uint64_t row_bytes = header.width * size_of(static_cast<ScalarType>(header.kind));
  if (header.rows > opened.remaining_bytes() / row_bytes) {
    return damage(file, offset, "the file ends inside an array");
  }
  return header;
}

std::string name_of(const ArrayHeader& header) {
  return {header.name.begin(), std::ranges::find(header.name, '\0')};
}

bool has_name(const ArrayHeader& header, const std::string& name) {
  return header.name == make_header(name, {}).name;
}

}  // namespace

Status write_part_file(const PartFile& file, const std::map<std::string, StoredArray>& arrays) {
  auto published = command::AtomicFile::create(file.path);
  if (!published) return failure(published.error());
  std::uint64_t offset = 0;
  const auto append = [&](std::span<const std::byte> bytes) {
    const Status written = published->write(offset, bytes);
    offset += bytes.size();
    return written;
  };
  for (const auto& [name, array] : arrays) {
    ArrayHeader header = make_header(name, array.shape);
    header.fingerprint = fingerprint_of(file, header, array.bytes);
    Status written = append(std::as_bytes(std::span(&header, 1)));
    if (written) written = append(array.bytes);
    if (!written) return written;
  }
  return published->publish();
}

Result<StoredArray> read_part_file(const PartFile& file, const std::string& name) {
  auto opened = open(file);
  if (!opened) return failure(opened.error());
  std::string names;
  std::size_t others = 0;
  while (opened->remaining_bytes() > 0) {
    const std::uint64_t offset = opened->offset;
    const Result<ArrayHeader> header = read_header(file, *opened);
    if (!header) return failure(header.error());
    StoredArray array{{static_cast<ScalarType>(header->kind), header->width, header->rows}, {}};
    if (!has_name(*header, name)) {
      if (others++ < kArraysListedMax) names += (names.empty() ? "" : ", ") + name_of(*header);
      opened->offset += array.shape.size_bytes();
      opened->stream.seekg(static_cast<std::streamoff>(opened->offset));
      continue;
    }
    array.bytes.resize(array.shape.size_bytes());
    const Status done = read_bytes(file, *opened, array.bytes);
    if (!done) return failure(done.error());
    if (fingerprint_of(file, *header, array.bytes) == header->fingerprint) return array;
    return damage(file, offset,
                  fmt::format("array {} of part {} of step {} was changed after it was written",
                              name, file.part, file.step));
  }
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "read part",
                  .path = file.path,
                  .cause = fmt::format("the file has no array {}; it has {}{}", name,
                                       names.empty() ? "none" : names,
                                       others > kArraysListedMax ? " and others" : "")});
}

}  // namespace forebay::flow
