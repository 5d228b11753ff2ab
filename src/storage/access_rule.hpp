// SPDX-License-Identifier: Apache-2.0
// Buffered or direct: the rule of docs/decisions/0001-buffered-or-direct.md as
// pure functions of a few facts, so that every row of that page is a test and `doctor` can print
// the reason.
#pragma once

#include <forebay/range.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "storage/file.hpp"

namespace forebay::storage {

/// A read shorter than this gains nothing from direct access that would pay for losing the cache.
inline constexpr std::uint64_t kDirectRangeBytesMin = std::uint64_t{32} << 20U;
/// The same on NFS, FUSE and Lustre, where the machine is known: the few requests of the kernel's
/// read-ahead cost a round trip each, and a plan has all servers answer at once.
inline constexpr std::uint64_t kDirectRangeBytesMinFar = std::uint64_t{4} << 20U;

/// With more than this share in the page cache, copying from there is faster than the device.
inline constexpr double kDirectCachedFractionMax = 0.5;

/// What the rule depends on.
struct AccessFacts {
  FileSystem file_system = FileSystem::kExt;
  bool direct_works = false;      ///< the file can be opened for direct access
  bool storage_known = false;     ///< plans know how many requests keep its servers busy
  std::uint64_t range_bytes = 0;  ///< how much will be read
  std::optional<double> cached_fraction =
      {};  ///< of that range; no value: unknown, counted as not cached
};

struct AccessDecision {
  Access access = Access::kBuffered;
  std::string reason = {};  ///< one sentence, for people
};

/// The rule. Direct files go to the ring, buffered ones to the thread pool (the ring would copy
/// cached pages on the submitting thread, and queue buffered writes one after the other).
AccessDecision choose_access(const AccessFacts& facts);

/// Finds the facts about reading `range` of `file`. Opens the file a second time, if it must, to
/// try direct access.
AccessFacts access_facts(const File& file, ByteRange range);

}  // namespace forebay::storage
