// SPDX-License-Identifier: Apache-2.0
// Every key of a machine file once: name, type, range and default. What reads, writes and lists
// machines is a visitor of these functions, so that none of them can forget a key; a test holds
// them against the page docs/formats/machine.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/machine.hpp"

namespace forebay::model {

/// What a number may be. Its default is what the member holds before it is read.
template <class T>
struct Range {
  T min;
  T max;
};

enum class Presence : std::uint8_t { kOptional, kRequired };
enum class SizeRule : std::uint8_t { kAny, kPowerOfTwo };

inline constexpr Range<std::uint64_t> kCounts{1, kServersMax};
inline constexpr Range<double> kMicrosecondsRange{0, 1e7};
/// Of what is not 0; less than this is no bandwidth but a unit that was mistaken.
inline constexpr double kMegabytesPerSecondMin = 0.001;
inline constexpr Range<double> kMegabytesPerSecondRange{0, 1e9};
inline constexpr Range<std::uint64_t> kStripeBytes{4_KiB, 1_GiB};
inline constexpr Range<std::uint64_t> kRequestBytes{4_KiB, 1_MiB};
inline constexpr Range<std::uint64_t> kReadAheadBytes{0, 1_GiB};
inline constexpr Range<std::uint64_t> kLockBytes{4_KiB, 1_GiB};

/// Numbers of two kinds have one rule each, so that their ranges cannot differ by table.
enum class RealRule : std::uint8_t { kMicroseconds, kBandwidth };

template <class Visitor>
void visit_client(Visitor& visit, Clients& client) {
  visit.count("count", client.count, kCounts, Presence::kOptional);
  visit.flag("page_cache", client.page_cache);
  visit.size("read_ahead_bytes", client.read_ahead_bytes, kReadAheadBytes, SizeRule::kAny);
  visit.size("request_bytes_max", client.request_bytes_max, kRequestBytes, SizeRule::kAny);
  visit.real("link_latency_us", client.link_latency_us, RealRule::kMicroseconds);
  visit.real("link_bandwidth_mb_per_s", client.link_bandwidth_mb_per_s, RealRule::kBandwidth);
}

template <class Visitor>
void visit_layout(Visitor& visit, DefaultLayout& layout) {
  visit.size("stripe_bytes", layout.stripe_bytes, kStripeBytes, SizeRule::kPowerOfTwo);
  visit.count("stripe_count", layout.stripe_count, {0, kServersMax}, Presence::kOptional);
  visit.word("first_server", layout.first_server);
}

template <class Visitor>
void visit_servers(Visitor& visit, ServerGroup& group) {
  visit.count("count", group.count, kCounts, Presence::kOptional);
  visit.real("latency_us", group.latency_us, RealRule::kMicroseconds, Presence::kRequired);
  visit.count("concurrency", group.concurrency, kCounts, Presence::kRequired);
  visit.real("bandwidth_mb_per_s", group.bandwidth_mb_per_s, RealRule::kBandwidth,
             Presence::kRequired);
  visit.flag("latency_overlaps", group.latency_overlaps);
  visit.follow(group.write_latency_us, group.latency_us);
  visit.real("write_latency_us", group.write_latency_us, RealRule::kMicroseconds);
  visit.follow(group.write_bandwidth_mb_per_s, group.bandwidth_mb_per_s);
  visit.real("write_bandwidth_mb_per_s", group.write_bandwidth_mb_per_s, RealRule::kBandwidth);
}

template <class Visitor>
void visit_metadata(Visitor& visit, MetadataServers& metadata) {
  visit.count("servers", metadata.servers, kCounts, Presence::kOptional);
  visit.count("concurrency", metadata.concurrency, kCounts, Presence::kOptional);
  visit.word("spread", metadata.spread);
  visit.real("create_us", metadata.create_us, RealRule::kMicroseconds);
  visit.real("open_us", metadata.open_us, RealRule::kMicroseconds);
  visit.real("stat_us", metadata.stat_us, RealRule::kMicroseconds);
  visit.real("unlink_us", metadata.unlink_us, RealRule::kMicroseconds);
}

template <class Visitor>
void visit_locks(Visitor& visit, Locks& locks) {
  visit.word("unit", locks);
  visit.real("change_us", locks.change_us, RealRule::kMicroseconds);
}

}  // namespace forebay::model
