// SPDX-License-Identifier: Apache-2.0
#include "cube/tar.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace forebay::cube {

namespace {

/// A field of the header.
struct Field {
  std::size_t offset;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kUser{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kChecksum{148, 8};
constexpr std::size_t kTypeflagOffset = 156;
constexpr Field kMagic{257, 8};
constexpr Field kPrefix{345, 155};
constexpr std::string_view kUstar = "ustar";

constexpr std::uint64_t kElevenDigits = 1ULL << 33U;  // 8 GiB
constexpr std::uint64_t kTwelveDigits = 1ULL << 36U;  // 64 GiB
constexpr unsigned char kBase256 = 0x80;

using Block = std::span<const std::byte, kTarBlockBytes>;

unsigned char byte_at(Block block, std::size_t offset) {
  return static_cast<unsigned char>(block[offset]);
}

void put(TarBlock& block, Field field, std::string_view text) {
  const std::size_t count = std::min(text.size(), field.size);
  std::ranges::transform(text.substr(0, count), block.begin() + static_cast<long>(field.offset),
                         [](char c) { return static_cast<std::byte>(c); });
}

/// A name longer than its field is split at a '/', which is not stored.
void put_name(TarBlock& block, std::string_view name) {
  const std::size_t room = kName.size + 1;
  const std::size_t cut = name.size() < room ? name.npos : name.find('/', name.size() - room);
  if (cut != name.npos) {
    put(block, kPrefix, name.substr(0, cut));
    name.remove_prefix(cut + 1);
  }
  put(block, kName, name);
}

/// The text of a field, up to its first NUL.
std::string text_of(Block block, Field field) {
  std::string text;
  for (std::size_t i = 0; i < field.size && byte_at(block, field.offset + i) != 0; ++i)
    text += static_cast<char>(byte_at(block, field.offset + i));
  return text;
}

std::string size_field(std::uint64_t size_bytes) {
  if (size_bytes < kElevenDigits) return fmt::format("{:011o}", size_bytes);
  if (size_bytes < kTwelveDigits) return fmt::format("{:012o}", size_bytes);
  std::string field(kSize.size, '\0');
  field.front() = static_cast<char>(kBase256);
  for (std::size_t i = 0; i < sizeof size_bytes; ++i)
    field[kSize.size - 1 - i] = static_cast<char>(size_bytes >> (8 * i));
  return field;
}

/// The sum of all bytes, with the checksum field as blanks.
std::uint64_t checksum_of(Block block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_own = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.size;
    sum += is_own ? ' ' : byte_at(block, i);
  }
  return sum;
}

/// Octal digits, after blanks and up to a blank, NUL or the field's end; no digits are 0.
std::optional<std::uint64_t> octal(Block block, Field field) {
  std::uint64_t number = 0;
  std::size_t i = field.offset;
  const std::size_t end = field.offset + field.size;
  while (i < end && byte_at(block, i) == ' ')
    ++i;
  for (; i < end && byte_at(block, i) != ' ' && byte_at(block, i) != 0; ++i) {
    const unsigned digit = byte_at(block, i) - unsigned{'0'};
    if (digit > 7) return std::nullopt;
    number = number * 8 + digit;
  }
  return number;
}

std::optional<std::uint64_t> size_of(Block block) {
  if (byte_at(block, kSize.offset) != kBase256) return octal(block, kSize);
  std::uint64_t number = 0;
  for (std::size_t i = 1; i < kSize.size; ++i) {
    if (number >> 55U != 0) return std::nullopt;  // more than 2^63
    number = number << 8U | byte_at(block, kSize.offset + i);
  }
  return number;
}

tl::unexpected<Error> damaged_header(std::size_t offset, std::string cause) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read a tar header",
                  .offset_bytes = offset,
                  .cause = std::move(cause)});
}

}  // namespace

TarBlock encode_tar_header(std::string_view name, std::uint64_t size_bytes) {
  TarBlock block{};
  put_name(block, name);
  put(block, kMode, "0000600");
  put(block, kUser, "0000000");
  put(block, kGroup, "0000000");
  put(block, kSize, size_field(size_bytes));
  // Begin with a blank, which ends a size of twelve digits for readers that parse past its field.
  put(block, kTime, fmt::format(" {:010o}", 0));
  block[kTypeflagOffset] = std::byte{'0'};
  put(block, kMagic, std::string_view("ustar\00000", 8));
  put(block, kChecksum, fmt::format("{:06o}", checksum_of(block)));
  block[kChecksum.offset + kChecksum.size - 1] = std::byte{' '};
  return block;
}

Result<TarHeader> decode_tar_header(std::span<const std::byte, kTarBlockBytes> block) {
  TarHeader header;
  header.is_checksum_valid = octal(block, kChecksum) == checksum_of(block);
  const bool is_marked = text_of(block, {kMagic.offset, kUstar.size()}) == kUstar;
  if (!header.is_checksum_valid && !is_marked) {
    return damaged_header(0, "not a tar header; neither its magic nor its checksum is right");
  }
  const std::optional<std::uint64_t> size_bytes = size_of(block);
  if (!size_bytes) return damaged_header(kSize.offset, "the size in a tar header is not a number");
  header.size_bytes = *size_bytes;
  header.name = text_of(block, kName);
  // GNU tar stores other data in the place of the prefix, and has a blank after its magic.
  const bool has_prefix = is_marked && byte_at(block, kMagic.offset + kUstar.size()) == 0;
  const std::string prefix = has_prefix ? text_of(block, kPrefix) : std::string{};
  if (!prefix.empty()) header.name = prefix + '/' + header.name;
  const unsigned char kind = byte_at(block, kTypeflagOffset);
  header.typeflag = kind == 0 ? '0' : static_cast<char>(kind);
  return header;
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace forebay::cube
