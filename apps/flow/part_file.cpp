// SPDX-License-Identifier: Apache-2.0
#include "flow/part_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include <fmt/format.h>

#include "command/published_file.hpp"
#include "flow/fingerprint.hpp"

namespace forebay::flow {

namespace {

/// Arrays that an Error about another one names.
constexpr std::size_t kArraysNamed = 20;

/// What comes before the values of an array.
struct ArrayHead {
  std::array<char, kArrayNameBytesMax> name{};  ///< zeros behind it
  std::uint32_t kind = 0;
  std::uint32_t width = 0;
  std::uint64_t rows = 0;
  std::uint64_t fingerprint = 0;
};
static_assert(sizeof(ArrayHead) == 56);

ArrayHead head_of(const std::string& name, const ArrayShape& shape) {
  ArrayHead head{
      .kind = static_cast<std::uint32_t>(shape.kind), .width = shape.width, .rows = shape.rows};
  std::ranges::copy(name.substr(0, kArrayNameBytesMax), head.name.begin());
  return head;
}

/// Of everything but the fingerprint itself.
std::uint64_t fingerprint_of(const PartFile& file,
                             ArrayHead head,
                             std::span<const std::byte> bytes) {
  head.fingerprint = 0;
  Fingerprint print;
  print.add(file.step);
  print.add(file.part);
  print.add(std::as_bytes(std::span(&head, 1)));
  print.add(bytes);
  return print.value();
}

tl::unexpected<Error> damage(const PartFile& file, std::uint64_t offset, std::string cause) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read part",
                  .path = file.path,
                  .offset_bytes = offset,
                  .cause = std::move(cause)});
}

/// A file and what is left of it.
struct OpenFile {
  std::ifstream stream;
  std::uint64_t size_bytes = 0;
  std::uint64_t offset = 0;

  std::uint64_t left() const { return size_bytes - offset; }
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

/// A head that can be believed: its values are inside the file.
Result<ArrayHead> read_head(const PartFile& file, OpenFile& opened) {
  const std::uint64_t offset = opened.offset;
  ArrayHead head;
  if (opened.left() < sizeof(head)) return damage(file, offset, "the file ends inside an array");
  const Status done = read_bytes(file, opened, std::as_writable_bytes(std::span(&head, 1)));
  if (!done) return failure(done.error());
  const bool is_known = head.kind >= static_cast<std::uint32_t>(ElementKind::kU32) &&
                        head.kind <= static_cast<std::uint32_t>(ElementKind::kF64);
  if (!is_known || head.width == 0) return damage(file, offset, "there is no such type");
  const std::uint64_t row_bytes = head.width * size_of(static_cast<ElementKind>(head.kind));
  if (head.rows > opened.left() / row_bytes) {
    return damage(file, offset, "the file ends inside an array");
  }
  return head;
}

std::string name_of(const ArrayHead& head) {
  return {head.name.begin(), std::ranges::find(head.name, '\0')};
}

bool has_name(const ArrayHead& head, const std::string& name) {
  return head.name == head_of(name, {}).name;
}

}  // namespace

Status write_part_file(const PartFile& file, const std::map<std::string, StoredArray>& arrays) {
  auto published = command::PublishedFile::create(file.path);
  if (!published) return failure(published.error());
  std::uint64_t offset = 0;
  const auto append = [&](std::span<const std::byte> bytes) {
    const Status written = published->write(offset, bytes);
    offset += bytes.size();
    return written;
  };
  for (const auto& [name, array] : arrays) {
    ArrayHead head = head_of(name, array.shape);
    head.fingerprint = fingerprint_of(file, head, array.bytes);
    Status written = append(std::as_bytes(std::span(&head, 1)));
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
  while (opened->left() > 0) {
    const std::uint64_t offset = opened->offset;
    const Result<ArrayHead> head = read_head(file, *opened);
    if (!head) return failure(head.error());
    StoredArray array{{static_cast<ElementKind>(head->kind), head->width, head->rows}, {}};
    if (!has_name(*head, name)) {
      if (others++ < kArraysNamed) names += (names.empty() ? "" : ", ") + name_of(*head);
      opened->offset += array.shape.size_bytes();
      opened->stream.seekg(static_cast<std::streamoff>(opened->offset));
      continue;
    }
    array.bytes.resize(array.shape.size_bytes());
    const Status done = read_bytes(file, *opened, array.bytes);
    if (!done) return failure(done.error());
    if (fingerprint_of(file, *head, array.bytes) == head->fingerprint) return array;
    return damage(file, offset,
                  fmt::format("array {} of part {} of step {} is not what was written", name,
                              file.part, file.step));
  }
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "read part",
                  .path = file.path,
                  .cause = fmt::format("there is no array {}; it has {}{}", name,
                                       names.empty() ? "none" : names,
                                       others > kArraysNamed ? " and others" : "")});
}

}  // namespace forebay::flow
