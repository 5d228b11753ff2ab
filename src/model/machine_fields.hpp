// SPDX-License-Identifier: Apache-2.0
// All keys of a machine file, once: name, type, range and default. The functions that read, write
// and list machines are visitors of these, so that none omits a key. A test compares them with
// docs/formats/machine.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/machine.hpp"

namespace forebay::model {

/// Valid values of a number. Its default is the value of the member before it is read.
template <class T>
struct Range {
  T min;
  T max;
};

enum class FieldPresence : std::uint8_t { kOptional, kRequired };
enum class SizeRule : std::uint8_t { kAny, kPowerOfTwo };

inline constexpr Range<std::uint64_t> kCountRange{1, kServersMax};
inline constexpr Range<std::uint64_t> kOptionalCountRange{0, kServersMax};
inline constexpr Range<double> kMicrosecondsRange{0, 1e7};
/// Smallest bandwidth other than 0: a lower value is a mistaken unit.
inline constexpr double kMegabytesPerSecondMin = 0.001;
inline constexpr Range<double> kMegabytesPerSecondRange{0, 1e9};
inline constexpr Range<double> kShareRange{0, 1};
inline constexpr Range<double> kPowerRange{0, 64};
inline constexpr Range<double> kSecondsRange{1e-9, 1e9};
inline constexpr Range<double> kRatioRange{1, 1e6};
inline constexpr Range<double> kDeviationRange{0, 10};
inline constexpr Range<std::uint64_t> kStripeBytesRange{4_KiB, 1_GiB};
inline constexpr Range<std::uint64_t> kRequestBytesRange{4_KiB, 1_MiB};
inline constexpr Range<std::uint64_t> kReadAheadBytesRange{0, 1_GiB};
inline constexpr Range<std::uint64_t> kLockBytesRange{4_KiB, 1_GiB};
inline constexpr Range<std::uint64_t> kNodeMemoryRange{0, 1024 * 1024_GiB};

/// Real numbers of each kind have one rule, so their ranges cannot differ between tables.
enum class RealRule : std::uint8_t {
  kMicroseconds,
  kBandwidth,
  kShare,
  kPower,
  kSeconds,    ///< above 0
  kRatio,      ///< largest / mean
  kDeviation,  ///< of logarithms
};

template <class Visitor>
void visit_client(Visitor& visit, Clients& client) {
  visit.count("count", client.count, kCountRange, FieldPresence::kOptional);
  visit.flag("page_cache", client.page_cache);
  visit.size("read_ahead_bytes", client.read_ahead_bytes, kReadAheadBytesRange, SizeRule::kAny);
  visit.size("request_bytes_max", client.request_bytes_max, kRequestBytesRange, SizeRule::kAny);
  visit.real("link_latency_us", client.link_latency_us, RealRule::kMicroseconds);
  visit.real("link_bandwidth_mb_per_s", client.link_bandwidth_mb_per_s, RealRule::kBandwidth);
  visit.count("cores", client.cores, kCountRange, FieldPresence::kOptional);
  visit.size("memory_bytes", client.memory_bytes, kNodeMemoryRange, SizeRule::kAny);
  visit.real("copy_mb_per_s", client.copy_mb_per_s, RealRule::kBandwidth);
}

template <class Visitor>
void visit_network(Visitor& visit, Network& network) {
  visit.real("latency_us", network.latency_us, RealRule::kMicroseconds);
  visit.real("bandwidth_mb_per_s", network.bandwidth_mb_per_s, RealRule::kBandwidth);
}

template <class Visitor>
void visit_io_nodes(Visitor& visit, IoNodes& nodes) {
  visit.count("count", nodes.count, kOptionalCountRange, FieldPresence::kOptional);
  visit.real("latency_us", nodes.latency_us, RealRule::kMicroseconds);
  visit.real("bandwidth_mb_per_s", nodes.bandwidth_mb_per_s, RealRule::kBandwidth);
}

template <class Visitor>
void visit_sharing(Visitor& visit, Sharing& sharing) {
  visit.real("writer_mb_per_s", sharing.writer_mb_per_s, RealRule::kBandwidth);
  visit.real("file_mb_per_s", sharing.file_mb_per_s, RealRule::kBandwidth);
}

template <class Visitor>
void visit_storage(Visitor& visit, StorageLimits& storage) {
  visit.real("read_mb_per_s", storage.read_mb_per_s, RealRule::kBandwidth);
  visit.real("write_mb_per_s", storage.write_mb_per_s, RealRule::kBandwidth);
  visit.real("stage_power", storage.stage_power, RealRule::kPower);
}

template <class Visitor>
void visit_layout(Visitor& visit, DefaultLayout& layout) {
  visit.size("stripe_bytes", layout.stripe_bytes, kStripeBytesRange, SizeRule::kPowerOfTwo);
  visit.count("stripe_count", layout.stripe_count, {0, kServersMax}, FieldPresence::kOptional);
  visit.keyword("first_server", layout.first_server);
}

template <class Visitor>
void visit_servers(Visitor& visit, ServerGroup& group) {
  visit.count("count", group.count, kCountRange, FieldPresence::kOptional);
  visit.real("latency_us", group.latency_us, RealRule::kMicroseconds, FieldPresence::kRequired);
  visit.count("concurrency", group.concurrency, kCountRange, FieldPresence::kRequired);
  visit.real("bandwidth_mb_per_s", group.bandwidth_mb_per_s, RealRule::kBandwidth,
             FieldPresence::kRequired);
  visit.flag("latency_overlaps", group.latency_overlaps);
  visit.default_to(group.write_latency_us, group.latency_us);
  visit.real("write_latency_us", group.write_latency_us, RealRule::kMicroseconds);
  visit.default_to(group.write_bandwidth_mb_per_s, group.bandwidth_mb_per_s);
  visit.real("write_bandwidth_mb_per_s", group.write_bandwidth_mb_per_s, RealRule::kBandwidth);
  visit.real("sync_us", group.sync_us, RealRule::kMicroseconds);
}

template <class Visitor>
void visit_metadata(Visitor& visit, MetadataServers& metadata) {
  visit.count("servers", metadata.servers, kCountRange, FieldPresence::kOptional);
  visit.count("concurrency", metadata.concurrency, kCountRange, FieldPresence::kOptional);
  visit.keyword("spread", metadata.spread);
  visit.real("create_us", metadata.create_us, RealRule::kMicroseconds);
  visit.real("open_us", metadata.open_us, RealRule::kMicroseconds);
  visit.real("stat_us", metadata.stat_us, RealRule::kMicroseconds);
  visit.real("unlink_us", metadata.unlink_us, RealRule::kMicroseconds);
  visit.real("sync_us", metadata.sync_us, RealRule::kMicroseconds);
}

template <class Visitor>
void visit_locks(Visitor& visit, Locks& locks) {
  visit.keyword("unit", locks);
  visit.real("change_us", locks.change_us, RealRule::kMicroseconds);
}

}  // namespace forebay::model
