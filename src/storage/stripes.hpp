// SPDX-License-Identifier: Apache-2.0
// What a parallel file system tells of itself: how a file is cut over its servers, so that reads
// follow stripes, keep all servers busy, and one request is never for two of them. Parsing is
// apart from asking, so that it is tested without such a file system.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/file.hpp"

namespace forebay::storage {

/// Stripe k of a file lies on its server k mod `server_count`.
struct Stripes {
  std::uint64_t stripe_bytes = 0;
  std::uint32_t server_count = 0;
  /// The first of them, in the numbers of a machine whose servers follow each other: emufs tells,
  /// while those of Lustre lie in any order.
  std::optional<std::uint32_t> first_server = {};

  friend bool operator==(const Stripes&, const Stripes&) = default;
};

/// What the file system tells of the file: Lustre and emufs do, by extended attributes. No value
/// elsewhere, for layouts of several parts, for what no machine file could say (stripes of more
/// than 1 GiB), and for files without a descriptor. Reads no data.
std::optional<Stripes> stripes_of(const File& file);

/// How somebody would like a file to be cut; 0: as the file system likes it.
struct StripeWish {
  std::uint64_t stripe_bytes = 0;
  std::uint32_t server_count = 0;

  friend bool operator==(const StripeWish&, const StripeWish&) = default;
};

/// Tells the file system, for a file that has no data yet. Emufs lets itself be told so; elsewhere
/// nothing happens, and what came of it stripes_of() tells.
void wish_stripes(const File& file, const StripeWish& wish) noexcept;

/// How a file system describes itself.
inline constexpr const char* kMachineAttribute = "user.emufs.machine";

/// An open file or folder of a storage.
struct StoragePlace {
  int descriptor = -1;  ///< the caller's; -1: it is not open
  FileSystem file_system = FileSystem::kOther;
  std::string path = {};  ///< for messages
};
StoragePlace place_of(const File& file);

/// The machine file (docs/formats/machine.md) of the storage, where the file system describes
/// itself by the attribute "user.emufs.machine", as emufs does. An Error where there is one that
/// is longer than an attribute can be (64 KiB).
Result<std::optional<std::string>> machine_text_of(const StoragePlace& place);

/// The attribute "lustre.lov": struct lov_user_md_v1 or _v3 of lustre_user.h, little-endian.
std::optional<Stripes> parse_lustre_layout(std::span<const std::byte> attribute);

/// The attribute "user.emufs.layout": words such as "stripe_bytes=1048576", any order, others
/// ignored.
std::optional<Stripes> parse_emufs_layout(std::string_view attribute);

}  // namespace forebay::storage
