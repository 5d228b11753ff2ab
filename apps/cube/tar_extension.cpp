// SPDX-License-Identifier: Apache-2.0
#include "cube/tar_extension.hpp"

#include <charconv>

namespace forebay::cube {

namespace {

Status extension_error(ErrorClass kind, std::string cause) {
  return failure(
      {.kind = kind, .operation = "read an extended tar header", .cause = std::move(cause)});
}

/// Parses the whole text as a number.
std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Record {
  std::string_view key;
  std::string_view value;
};

/// Takes "LENGTH KEY=VALUE\n" from the front of `body`; LENGTH counts all of it.
std::optional<Record> take_record(std::string_view& body) {
  const std::size_t blank = body.substr(0, 20).find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto length = number_of(body.substr(0, blank));
  if (!length || *length > body.size() || *length < blank + 3) return std::nullopt;
  const std::string_view record = body.substr(blank + 1, *length - blank - 1);
  const std::size_t equal = record.find('=');
  if (record.back() != '\n' || equal == std::string_view::npos) return std::nullopt;
  body.remove_prefix(*length);
  return Record{record.substr(0, equal), record.substr(equal + 1, record.size() - equal - 2)};
}

Status add_record(TarExtension& extension, const Record& record) {
  if (record.key.starts_with("GNU.sparse."))
    return extension_error(ErrorClass::kUnsupported,
                           "the member is sparse; create the archive without --sparse");
  if (record.key == "path") extension.name = record.value;
  if (record.key != "size") return {};
  extension.size_bytes = number_of(record.value);
  if (extension.size_bytes) return {};
  return extension_error(ErrorClass::kDamage,
                         "the size \"" + std::string(record.value) + "\" is not a number");
}

}  // namespace

Status TarExtension::add(char kind, std::string_view body) {
  if (kind == 'L') name = std::string(body.substr(0, body.find('\0')));
  if (kind != 'x' && kind != 'g') return {};
  while (!body.empty()) {
    const auto record = take_record(body);
    if (!record) return extension_error(ErrorClass::kDamage, "the header is not a list of records");
    if (Status added = add_record(*this, *record); !added) return added;
  }
  return {};
}

void TarExtension::apply_to(TarHeader& header) const {
  if (name) header.name = *name;
  if (size_bytes) header.size_bytes = *size_bytes;
}

}  // namespace forebay::cube
