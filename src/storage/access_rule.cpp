// SPDX-License-Identifier: Apache-2.0
// The rule of docs/decisions/0001-buffered-or-direct.md, in the order of that page.
#include "storage/access_rule.hpp"

#include <cmath>
#include <string>

namespace forebay::storage {

namespace {

std::string percent(double fraction) { return std::to_string(std::lround(fraction * 100)) + " %"; }

}  // namespace

AccessDecision choose_access(const AccessFacts& facts) {
  const std::string kind(name_of(facts.file_system));
  if (!facts.is_direct_supported) {
    return {Access::kBuffered, "buffered: this file on " + kind + " has no direct access"};
  }
  if (is_remote(facts.file_system) && !facts.is_storage_known) {
    return {Access::kBuffered, "buffered: " + kind + " has its own cache"};
  }
  const std::uint64_t long_from =
      is_remote(facts.file_system) ? kDirectRangeBytesMinRemote : kDirectRangeBytesMin;
  if (facts.range_bytes < long_from) {
    return {Access::kBuffered,
            "buffered: " + std::to_string(facts.range_bytes) + " bytes are too few for direct"};
  }
  const double cached = facts.cached_fraction.value_or(0);
  if (cached > kDirectCachedFractionMax) {
    return {Access::kBuffered, "buffered: " + percent(cached) + " is in the page cache already"};
  }
  if (!facts.cached_fraction) {
    return {Access::kDirect, "direct: a long read; its share in the page cache is unknown"};
  }
  return {Access::kDirect,
          "direct: a long read, and only " + percent(cached) + " of it is in the page cache"};
}

AccessFacts access_facts(const File& file, ByteRange range) {
  AccessFacts facts{.file_system = file.file_system(), .range_bytes = range.size};
  facts.cached_fraction = file.cached_fraction(range);
  if (file.descriptor() < 0) return facts;
  facts.is_direct_supported = file.access() == Access::kDirect ||
                              reopen(file, {.intent = Intent::kRead, .access = Access::kDirect});
  return facts;
}

}  // namespace forebay::storage
