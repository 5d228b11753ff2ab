// SPDX-License-Identifier: Apache-2.0
// Chooses whether a file is written past the page cache or through it, as a pure function of a few
// facts: the table of docs/guides/writing.md, each row of which has a test.
#pragma once

#include <cstdint>

#include "storage/access_rule.hpp"

namespace forebay::stream {

/// Files expected to be shorter than this stay in the page cache.
inline constexpr std::uint64_t kDirectOutputBytesMin = std::uint64_t{32} << 20U;
/// On FUSE: one request, which waits for no other.
inline constexpr std::uint64_t kDirectOnFuseBytesMin = std::uint64_t{1} << 20U;

struct WriteAccessFacts {
  storage::FileSystem file_system = storage::FileSystem::kExt;
  bool is_direct_supported = false;  ///< the file can be opened for direct access
  std::uint64_t expected_bytes = 0;  ///< 0: unknown
  bool is_cached = false;            ///< some of it is in the page cache
};

storage::AccessDecision choose_write_access(const WriteAccessFacts& facts);

/// Limit of bytes in flight to a device that was not measured.
struct InFlightDefault {
  std::uint64_t bytes;
  const char* reason;
};
InFlightDefault default_in_flight(storage::FileSystem kind) noexcept;

}  // namespace forebay::stream
