// SPDX-License-Identifier: Apache-2.0
// Stripe layouts of parallel file systems: how a file is divided over its servers. So reads follow
// stripes, keep all servers busy, and no request spans two servers. Parsing is separate from the
// query, so that it is tested without such a file system.
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

/// Stripe k of a file is on its server k mod `stripe_count`.
struct StripeLayout {
  std::uint64_t stripe_bytes = 0;
  std::uint32_t stripe_count = 0;
  /// The first of them, for machines whose servers are in order: emufs reports it; those of Lustre
  /// are in any order.
  std::optional<std::uint32_t> first_server = {};

  friend bool operator==(const StripeLayout&, const StripeLayout&) = default;
};

/// The layout that the file system reports for the file, in extended attributes: Lustre and emufs
/// do. No value elsewhere, for layouts of several parts, and for files without a descriptor. No
/// value for layouts beyond the limits of machine files (stripes of more than 1 GiB) either. Reads
/// no data.
std::optional<StripeLayout> stripe_layout_of(const File& file);

/// The requested layout of a file; 0: default of the file system.
struct StripeHint {
  std::uint64_t stripe_bytes = 0;
  std::uint32_t stripe_count = 0;

  friend bool operator==(const StripeHint&, const StripeHint&) = default;
};

/// Passes the hint to the file system, for a file without data. Only emufs uses it; elsewhere it
/// has no effect. stripe_layout_of() returns the result.
void set_stripe_hint(const File& file, const StripeHint& hint) noexcept;

/// Extended attribute with a file system's description of its machine.
inline constexpr const char* kMachineAttribute = "user.emufs.machine";

/// An open file or directory of a storage.
struct StorageObject {
  int descriptor = -1;  ///< the caller's; -1: not open
  FileSystem file_system = FileSystem::kOther;
  std::string path = {};  ///< for messages
};
StorageObject storage_object_of(const File& file);

/// The machine file (docs/formats/machine.md) of the storage, if the file system describes itself
/// in the attribute "user.emufs.machine", as emufs does. An Error if the attribute is longer than
/// possible (64 KiB).
Result<std::optional<std::string>> read_machine_attribute(const StorageObject& storage_object);

/// The attribute "lustre.lov": struct lov_user_md_v1 or _v3 of lustre_user.h, little-endian.
std::optional<StripeLayout> parse_lustre_layout(std::span<const std::byte> attribute);

/// The attribute "user.emufs.layout": words such as "stripe_bytes=1048576", any order, others
/// ignored.
std::optional<StripeLayout> parse_emufs_layout(std::string_view attribute);

}  // namespace forebay::storage
