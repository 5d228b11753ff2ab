// SPDX-License-Identifier: Apache-2.0
#include "stream/write_access.hpp"

#include <forebay/range.hpp>

#include <string>

namespace forebay::stream {

namespace {

using storage::FileSystem;

/// FUSE has none by default.
bool has_write_behind(FileSystem kind) noexcept {
  return storage::is_remote(kind) && kind != FileSystem::kFuse;
}

std::uint64_t direct_bytes_min(FileSystem kind) noexcept {
  return kind == FileSystem::kFuse ? kDirectOnFuseBytesMin : kDirectOutputBytesMin;
}

}  // namespace

storage::AccessDecision choose_write_access(const WriteAccessFacts& facts) {
  const std::string kind(name_of(facts.file_system));
  if (!facts.is_direct_supported)
    return {Access::kBuffered, "buffered: this file on " + kind + " has no direct access"};
  if (has_write_behind(facts.file_system))
    return {Access::kBuffered, "buffered: " + kind + " has its own write-behind"};
  if (facts.expected_bytes > 0 && facts.expected_bytes < direct_bytes_min(facts.file_system)) {
    return {Access::kBuffered,
            "buffered: " + std::to_string(facts.expected_bytes) + " bytes are too few for direct"};
  }
  if (facts.is_cached)
    return {Access::kBuffered, "buffered: some of the file is in the page cache"};
  if (facts.file_system == FileSystem::kFuse)
    return {Access::kDirect, "direct: on fuse, buffered writes of a file wait for each other"};
  return {Access::kDirect,
          facts.expected_bytes > 0 ? "direct: a long file" : "direct: a file of unknown length"};
}

// Local devices were busy from a few MiB on; a buffer of 16 MiB and the next one keep them so. A
// network needs more, to cover a round trip.
InFlightDefault default_in_flight(FileSystem kind) noexcept {
  if (kind == FileSystem::kTmpfs || kind == FileSystem::kMemory)
    return {16_MiB, "as for any memory"};
  if (storage::is_remote(kind)) return {64_MiB, "as for any network file system"};
  return {32_MiB, "as for any local device"};
}

}  // namespace forebay::stream
