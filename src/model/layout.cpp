// SPDX-License-Identifier: Apache-2.0
// Splits files and spreads names. These results are permanent, as long as emufs keeps its backing
// directories: a change would move files to other servers.
#include "model/layout.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "base/fnv.hpp"

namespace forebay::model {

namespace {

/// Spreads differences in few bits over all bits, so that remainders of the hash are even. The last
/// step of SplitMix64.
constexpr std::uint64_t mix(std::uint64_t hash) {
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31U);
}

/// Number of contiguous bytes from `offset` on one server; `kAll` on the only server.
std::uint64_t contiguous_bytes(const Layout& layout, std::uint64_t offset) {
  if (layout.stripe_count == 1) return kAll;
  return layout.stripe_bytes - (offset & (layout.stripe_bytes - 1));
}

}  // namespace

Layout layout_of_new_file(const Machine& machine, std::uint64_t file_index) {
  const std::uint32_t servers = machine.server_count();
  const std::uint32_t requested = machine.layout.stripe_count;
  const auto rotated = static_cast<std::uint32_t>(file_index % servers);
  return {.stripe_bytes = machine.layout.stripe_bytes,
          .stripe_count = requested == 0 ? servers : std::min(requested, servers),
          .first_server = machine.layout.first_server.value_or(rotated)};
}

std::uint32_t server_of(const Layout& layout, std::uint64_t offset, std::uint32_t server_count) {
  const std::uint64_t stripe = offset / layout.stripe_bytes;
  return static_cast<std::uint32_t>((layout.first_server + stripe % layout.stripe_count) %
                                    server_count);
}

std::uint64_t object_offset_of(const Layout& layout, std::uint64_t offset) {
  const std::uint64_t stripe = offset / layout.stripe_bytes;
  return stripe / layout.stripe_count * layout.stripe_bytes + offset % layout.stripe_bytes;
}

ByteRange file_range_of(const Layout& layout, std::uint32_t column, ByteRange range) {
  const auto place_of = [&](std::uint64_t offset) {
    const std::uint64_t stripe = offset / layout.stripe_bytes * layout.stripe_count + column;
    return stripe * layout.stripe_bytes + offset % layout.stripe_bytes;
  };
  const std::uint64_t begin = range.offset == 0 ? 0 : place_of(range.offset);
  if (range.end() == kAll) return {begin, kAll};
  return {begin, place_of(range.end() - 1) + 1 - begin};
}

std::vector<ServerRange> split_by_server(const Layout& layout,
                                         ByteRange range,
                                         SplitLimits limits) {
  FOREBAY_ASSERT(std::has_single_bit(layout.stripe_bytes));
  FOREBAY_ASSERT(layout.stripe_count >= 1);
  FOREBAY_ASSERT(limits.server_count >= 1);
  FOREBAY_ASSERT(limits.request_bytes_max >= 1);
  std::vector<ServerRange> parts;
  for (std::uint64_t offset = range.offset; offset < range.end();) {
    const std::uint64_t row = std::min(contiguous_bytes(layout, offset), range.end() - offset);
    const std::uint64_t size = std::min(row, limits.request_bytes_max);
    parts.push_back({server_of(layout, offset, limits.server_count), {offset, size}});
    offset += size;
  }
  return parts;
}

std::uint64_t name_hash(NameSpread spread, std::uint64_t directory, std::string_view name) {
  std::uint64_t hash = kFnv1aBasis;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    hash = fnv1a(hash, static_cast<std::uint8_t>(directory >> shift));
  }
  if (spread == NameSpread::kFile) {
    for (const char letter : name)
      hash = fnv1a(hash, static_cast<std::uint8_t>(letter));
  }
  return mix(hash);
}

std::uint32_t metadata_server_of(std::uint64_t hash, const MetadataServers& servers) {
  return static_cast<std::uint32_t>(hash % servers.servers);
}

}  // namespace forebay::model
