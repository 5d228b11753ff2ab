// SPDX-License-Identifier: Apache-2.0
#include "storage/stripe_layout.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <sys/xattr.h>

namespace forebay::storage {

namespace {

static_assert(std::endian::native == std::endian::little,
              "layouts of Lustre are read as they are in memory");

constexpr std::uint32_t kLustreMagicV1 = 0x0BD10BD0;
constexpr std::uint32_t kLustreMagicV3 = 0x0BD30BD0;
constexpr std::uint64_t kAttributeBytesMax = 4096;
constexpr std::uint64_t kMachineBytesMax = 65536;  // the kernel's XATTR_SIZE_MAX

// Limits of a machine file (docs/formats/machine.md). Sizes of full stripes are factors and
// divisors, so the same limits apply to values of a file system.
constexpr std::uint64_t kStripeBytesMin = 4_KiB;
constexpr std::uint64_t kStripeBytesMax = 1_GiB;
constexpr std::uint32_t kServersMax = 65536;

/// The header that both versions share.
struct LustreHeader {
  std::uint32_t magic;
  std::uint32_t pattern;
  std::array<std::uint64_t, 2> object;
  std::uint32_t stripe_bytes;
  std::uint16_t stripe_count;
  std::uint16_t generation;
};
static_assert(sizeof(LustreHeader) == 32);

std::optional<StripeLayout> validated_layout(StripeLayout stripes) {
  const std::uint64_t bytes = stripes.stripe_bytes;
  if (!std::has_single_bit(bytes)) return std::nullopt;
  if (bytes < kStripeBytesMin || bytes > kStripeBytesMax) return std::nullopt;
  if (stripes.stripe_count == 0 || stripes.stripe_count > kServersMax) return std::nullopt;
  return stripes;
}

/// The number after `key` and '='.
std::optional<std::uint64_t> parse_number(std::string_view text, std::string_view key) {
  std::size_t at = text.find(key);
  while (at != std::string_view::npos) {
    const bool begins_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    const std::string_view rest = text.substr(at + key.size());
    if (begins_word && rest.starts_with('=')) {
      std::uint64_t value = 0;
      const auto read = std::from_chars(rest.data() + 1, rest.data() + rest.size(), value);
      return read.ec == std::errc() ? std::optional(value) : std::nullopt;
    }
    at = text.find(key, at + 1);
  }
  return std::nullopt;
}

/// The value, cut to `into`; empty if the file system has no such attribute.
std::span<const std::byte> read_attribute(int descriptor,
                                          const char* name,
                                          std::span<std::byte> into) {
  const ssize_t got = ::fgetxattr(descriptor, name, into.data(), into.size());
  return got > 0 ? into.first(static_cast<std::size_t>(got)) : std::span<std::byte>();
}

}  // namespace

std::optional<StripeLayout> parse_lustre_layout(std::span<const std::byte> attribute) {
  LustreHeader head{};
  if (attribute.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, attribute.data(), sizeof head);
  if (head.magic != kLustreMagicV1 && head.magic != kLustreMagicV3) return std::nullopt;
  return validated_layout({.stripe_bytes = head.stripe_bytes, .stripe_count = head.stripe_count});
}

std::optional<StripeLayout> parse_emufs_layout(std::string_view attribute) {
  const std::uint64_t count = parse_number(attribute, "stripe_count").value_or(0);
  if (count > kServersMax) return std::nullopt;
  StripeLayout stripes{.stripe_bytes = parse_number(attribute, "stripe_bytes").value_or(0),
                       .stripe_count = static_cast<std::uint32_t>(count)};
  const auto first = parse_number(attribute, "first_server");
  if (first && *first < kServersMax) stripes.first_server = static_cast<std::uint32_t>(*first);
  return validated_layout(stripes);
}

std::optional<StripeLayout> stripe_layout_of(const File& file) {
  if (file.descriptor() < 0) return std::nullopt;
  std::array<std::byte, kAttributeBytesMax> memory{};
  if (file.file_system() == FileSystem::kLustre)
    return parse_lustre_layout(read_attribute(file.descriptor(), "lustre.lov", memory));
  if (file.file_system() != FileSystem::kFuse) return std::nullopt;
  const auto text = read_attribute(file.descriptor(), "user.emufs.layout", memory);
  return parse_emufs_layout({reinterpret_cast<const char*>(text.data()), text.size()});
}

void set_stripe_hint(const File& file, const StripeHint& hint) noexcept {
  if (file.descriptor() < 0 || file.file_system() != FileSystem::kFuse) return;
  const auto set_attribute = [&](const char* name, std::uint64_t value) {
    const std::string text = std::to_string(value);
    if (value > 0)
      static_cast<void>(::fsetxattr(file.descriptor(), name, text.data(), text.size(), 0));
  };
  set_attribute("user.emufs.stripe_bytes", hint.stripe_bytes);
  set_attribute("user.emufs.stripe_count", hint.stripe_count);
}

StorageObject storage_object_of(const File& file) {
  return {file.descriptor(), file.file_system(), file.path()};
}

Result<std::optional<std::string>> read_machine_attribute(const StorageObject& storage_object) {
  if (storage_object.descriptor < 0 || storage_object.file_system != FileSystem::kFuse)
    return std::nullopt;
  std::string text(kMachineBytesMax, '\0');
  const ssize_t got =
      ::fgetxattr(storage_object.descriptor, kMachineAttribute, text.data(), text.size());
  const bool is_long = got < 0 && (errno == E2BIG || errno == ERANGE);
  if (is_long) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = std::string("read the attribute ") + kMachineAttribute + " of",
                    .path = storage_object.path,
                    .cause = "it is longer than 64 KiB, the maximum of an attribute"});
  }
  if (got <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace forebay::storage
