// SPDX-License-Identifier: Apache-2.0
// What can be learnt about an open descriptor without reading from it: its file system, what direct
// access to it needs, and how much of it is in the page cache. Apart from File, so that each
// question and its fallbacks are in one place.
#pragma once

#include <forebay/range.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "storage/file.hpp"

namespace forebay::storage {

/// The blocks of direct access where the kernel does not tell: the largest logical block of disks
/// in use.
inline constexpr std::size_t kDirectAlignmentBytesDefault = 4096;

FileSystem file_system_of(int descriptor) noexcept;

/// The same for two names of one file, different for two files; all of a device share `device`.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t file = 0;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

/// Files without a descriptor are on a device 0, each known by its address.
FileIdentity identity_of(const File& file) noexcept;

/// Attributes fetched from the server, not from this client's cache (statx with
/// AT_STATX_FORCE_SYNC). No value if statx fails.
struct ServerFacts {
  std::uint64_t size_bytes = 0;
  bool has_write_right = false;  ///< any write bit of its mode is set
};
std::optional<ServerFacts> server_facts_of(int descriptor) noexcept;

/// The alignment that direct transfers on this file need; no value if it supports none. Where the
/// kernel cannot say (before 6.1, and on some file systems), the default; then opening it for
/// direct access decides.
std::optional<std::size_t> direct_alignment_of(int descriptor) noexcept;

/// See File::cached_fraction; `range` lies within the file.
std::optional<double> cached_fraction_of(int descriptor, ByteRange range) noexcept;

}  // namespace forebay::storage
