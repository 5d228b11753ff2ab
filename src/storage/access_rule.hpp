// SPDX-License-Identifier: Apache-2.0
// Chooses buffered or direct access: the rule of docs/decisions/0001-buffered-or-direct.md as pure
// functions of a few facts. So every row of that page has a test, and `doctor` can print the
// reason.
#pragma once

#include <forebay/range.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "storage/file.hpp"

namespace forebay::storage {

/// For a shorter read, direct access gains less than the loss of the page cache costs.
inline constexpr std::uint64_t kDirectRangeBytesMin = std::uint64_t{32} << 20U;
/// The same where is_remote() is true, if the machine is known. The few requests of the kernel's
/// readahead cost a round trip each; a plan keeps all servers busy at once.
inline constexpr std::uint64_t kDirectRangeBytesMinRemote = std::uint64_t{4} << 20U;

/// If a larger share is in the page cache, copying from it is faster than the device.
inline constexpr double kDirectCachedFractionMax = 0.5;

/// Input of the rule.
struct AccessFacts {
  FileSystem file_system = FileSystem::kExt;
  bool is_direct_supported = false;  ///< the file can be opened for direct access
  bool is_storage_known = false;     ///< a machine file describes it, so that plans keep its
                                     ///< servers busy
  std::uint64_t range_bytes = 0;     ///< bytes to read
  std::optional<double> cached_fraction = {};  ///< of that range; no value: unknown, counts as 0
};

struct AccessDecision {
  Access access = Access::kBuffered;
  std::string reason = {};  ///< one sentence, for messages
};

/// The rule. backend_rule.hpp chooses the backend of direct files. Buffered files are
/// read by CopyAgent for sessions, and written by the `threads` backend for streams.
AccessDecision choose_access(const AccessFacts& facts);

/// Determines the facts about reading `range`, which lies within `file`. Opens the file a second
/// time, if necessary, to try direct access.
AccessFacts access_facts(const File& file, ByteRange range);

}  // namespace forebay::storage
