// SPDX-License-Identifier: Apache-2.0
#include "format/records.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>

#include <sys/random.h>

#include "base/utf8.hpp"

namespace forebay::format {
namespace {

constexpr std::string_view kDataPrefix = "data-";
constexpr std::size_t kGroupDigits = 6;
constexpr std::size_t kFileDigits = 5;

/// Padded with leading zeros to at least `digits` digits.
std::string zero_padded(std::uint64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

/// The number in a text that zero_padded() returned.
template <class Number>
std::optional<Number> parse_zero_padded(std::string_view text, std::size_t digits) noexcept {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const bool has_zeros = text.starts_with('0');
  if (text.size() < digits || (text.size() > digits && has_zeros)) return std::nullopt;
  return number;
}

tl::unexpected<Error> invalid_field_error(const FieldDefinition& field, const std::string& cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "define field " + field.name,
                  .cause = cause});
}

}  // namespace

std::optional<std::uint64_t> array_bytes(ElementType type,
                                         std::span<const std::uint64_t> shape) noexcept {
  std::uint64_t bytes = element_size(type);
  if (std::ranges::count(shape, 0U) != 0) return 0;
  for (const std::uint64_t extent : shape) {
    if (bytes > kArrayBytesMax / extent) return std::nullopt;
    bytes *= extent;
  }
  return bytes;
}

bool is_field_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > kNameBytesMax || !is_utf8(name)) return false;
  for (; !name.empty(); name.remove_prefix(utf8_character_bytes(name))) {
    const auto lead = static_cast<std::uint8_t>(name[0]);
    if (lead < 0x20 || lead == 0x7f) return false;
    // U+0080 ... U+009f are control characters, too.
    if (lead == 0xc2 && static_cast<std::uint8_t>(name[1]) < 0xa0) return false;
  }
  return true;
}

std::string to_string(const DatasetId& id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : id) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 0xfU];
  }
  return text;
}

Result<DatasetId> generate_dataset_id() {
  DatasetId id;
  const ssize_t got = ::getrandom(id.data(), id.size(), 0);
  if (got == static_cast<ssize_t>(id.size())) return id;
  return tl::unexpected(system_error({.operation = "generate a dataset id"}, errno));
}

std::string to_string(const DataFileName& name) {
  return std::string(kDataPrefix) + zero_padded(name.group, kGroupDigits) + "." +
         zero_padded(name.file, kFileDigits);
}

std::optional<DataFileName> parse_data_file_name(std::string_view name) noexcept {
  if (!name.starts_with(kDataPrefix)) return std::nullopt;
  name.remove_prefix(kDataPrefix.size());
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto group = parse_zero_padded<std::uint64_t>(name.substr(0, dot), kGroupDigits);
  const auto file = parse_zero_padded<std::uint32_t>(name.substr(dot + 1), kFileDigits);
  if (!group || !file) return std::nullopt;
  return DataFileName{*group, *file};
}

std::string_view name_of(FieldKind kind) noexcept {
  return kind == FieldKind::kGlobal ? "global" : "parts";
}

std::string_view name_of(Codec codec) noexcept { return codec == Codec::kZstd ? "zstd" : "none"; }

Status check_field(const FieldDefinition& field) {
  if (!is_field_name(field.name))
    return invalid_field_error(field,
                               "a name has 1 to 255 bytes of UTF-8 without control characters");
  if (field.dimensions > kDimensionsMax)
    return invalid_field_error(field, "it has more than 8 dimensions");
  if (field.kind == FieldKind::kParts) {
    if (!field.shape.empty())
      return invalid_field_error(field, "a field of parts has no shape; each part has its own");
    return {};
  }
  if (field.dimensions == 0)
    return invalid_field_error(field, "a global array needs at least 1 dimension");
  if (field.shape.size() != field.dimensions)
    return invalid_field_error(field, "its shape has " + std::to_string(field.shape.size()) +
                                          " dimensions instead of " +
                                          std::to_string(field.dimensions));
  if (!array_bytes(field.type, field.shape))
    return invalid_field_error(field, "the array has more than 2^63 - 1 bytes");
  return {};
}

}  // namespace forebay::format
