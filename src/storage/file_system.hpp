// SPDX-License-Identifier: Apache-2.0
// Properties of an open descriptor, found without reading from it: its file system, the alignment
// of direct access, and its share in the page cache. Separate from File, so that each query and its
// fallbacks are in one place.
#pragma once

#include <forebay/range.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "storage/file.hpp"

namespace forebay::storage {

/// Block size of direct access if the kernel does not report it: the largest logical block of disks
/// in use.
inline constexpr std::size_t kDirectAlignmentBytesDefault = 4096;

FileSystem file_system_of(int descriptor) noexcept;

/// Files without an identity of their own are on a device 0, identified by their address.
FileIdentity identity_of(const File& file) noexcept;

/// Attributes fetched from the server, not from this client's cache (statx with
/// AT_STATX_FORCE_SYNC). No value if statx fails.
struct ServerAttributes {
  std::uint64_t size_bytes = 0;
  bool has_write_permission = false;  ///< any write bit of its mode is set
};
std::optional<ServerAttributes> fetch_server_attributes(int descriptor) noexcept;

/// The alignment of direct transfers on this file; no value if it supports none. If the kernel does
/// not report it (before 6.1, and on some file systems), the default; then opening the file for
/// direct access decides.
std::optional<std::size_t> direct_alignment_of(int descriptor) noexcept;

/// See File::cached_fraction; `range` lies within the file.
std::optional<double> cached_fraction_of(int descriptor, ByteRange range) noexcept;

}  // namespace forebay::storage
