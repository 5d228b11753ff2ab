// SPDX-License-Identifier: Apache-2.0
// Whether a file is written past the page cache or through it, as a pure function of a few facts:
// the table of docs/guides/writing.md, each row of which is a test.
#pragma once

#include <cstdint>

#include "storage/access_rule.hpp"

namespace forebay::stream {

/// What is expected to be shorter than this is left in the page cache.
inline constexpr std::uint64_t kDirectOutputBytesMin = std::uint64_t{32} << 20U;
/// On FUSE: one request, which waits for no other.
inline constexpr std::uint64_t kDirectOnFuseBytesMin = std::uint64_t{1} << 20U;

struct WriteFacts {
  storage::FileSystem file_system = storage::FileSystem::kExt;
  bool direct_works = false;         ///< the file can be opened for direct access
  std::uint64_t expected_bytes = 0;  ///< 0: not known
  bool is_cached = false;            ///< some of it is in the page cache
};

storage::AccessDecision choose_write_access(const WriteFacts& facts);

/// What a device may have under way where nobody has measured it.
struct InFlightDefault {
  std::uint64_t bytes;
  const char* reason;
};
InFlightDefault default_in_flight(storage::FileSystem kind) noexcept;

}  // namespace forebay::stream
