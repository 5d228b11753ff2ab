// SPDX-License-Identifier: Apache-2.0
// The closed forms. All of them rest on one fact about queues without chance: what is asked for
// again and again ends up at the rate of its bottleneck, which is the requests under way, the
// places, or the path.
#include "model/queueing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUsPerS = 1e6;

/// 10^6 bytes a second are one byte in a microsecond.
double transfer_us(double bytes, double mb_per_s) { return mb_per_s == 0 ? 0 : bytes / mb_per_s; }

/// One request alone at one server.
struct Service {
  double latency_us = 0;
  double transfer_us = 0;
  double outside_us = 0;  ///< on the link: no place is held meanwhile
  double concurrency = 1;
  bool latency_overlaps = true;

  double alone_us() const { return latency_us + transfer_us; }
  /// What the path is taken for.
  double turn_us() const { return latency_overlaps ? transfer_us : alone_us(); }
  /// Requests in service at once.
  double in_service(double in_flight) const { return std::min(in_flight, concurrency); }

  /// Requests answered in a microsecond.
  double rate(double in_flight) const {
    const double by_load = in_flight / (alone_us() + outside_us);
    const double by_places = concurrency / alone_us();
    return std::min({by_load, by_places, 1 / turn_us()});
  }
};

Service service_of(const ServerGroup& server, RequestKind kind, double request_bytes) {
  FOREBAY_ASSERT(is_on_bytes(kind));
  const bool reads = kind == RequestKind::kRead;
  const double bandwidth = reads ? server.bandwidth_mb_per_s : server.write_bandwidth_mb_per_s;
  return {.latency_us = reads ? server.latency_us : server.write_latency_us,
          .transfer_us = transfer_us(request_bytes, bandwidth),
          .concurrency = static_cast<double>(server.concurrency),
          .latency_overlaps = server.latency_overlaps};
}

double bandwidth_of(const ServerGroup& server, RequestKind kind) {
  const bool reads = kind == RequestKind::kRead;
  const double bandwidth = reads ? server.bandwidth_mb_per_s : server.write_bandwidth_mb_per_s;
  return bandwidth == 0 ? kInfinite : bandwidth;
}

double cost_us(const MetadataServers& metadata, RequestKind kind) {
  FOREBAY_ASSERT(!is_on_bytes(kind));
  switch (kind) {
    case RequestKind::kCreate:
      return metadata.create_us;
    case RequestKind::kOpen:
      return metadata.open_us;
    case RequestKind::kStat:
      return metadata.stat_us;
    default:
      return metadata.unlink_us;
  }
}

/// So many requests of one server, so many of them under way as long as there are.
double makespan_us(const Service& service, double requests, double in_flight) {
  const double first_round = std::min(service.in_service(in_flight), requests);
  const double first_round_us =
      service.alone_us() + service.outside_us + (first_round - 1) * service.turn_us();
  return first_round_us + (requests - first_round) / service.rate(in_flight);
}

/// How a plan falls on the servers of the file's layout.
struct Spread {
  double part_bytes = 0;
  double parts_in_flight = 1;  ///< at each server that has some
  double share = 1;            ///< of the servers that have some at a time
};

Spread spread_of(const Machine& machine, const TransferPlan& plan) {
  const std::uint64_t stripe =
      plan.layout.stripe_count == 1 ? plan.bytes : plan.layout.stripe_bytes;
  const std::uint64_t part =
      std::min({plan.request_bytes, stripe, machine.client.request_bytes_max, plan.bytes});
  const double part_bytes = static_cast<double>(part);
  const double window_parts = static_cast<double>(plan.agents) * plan.depth *
                              static_cast<double>(std::min(plan.request_bytes, plan.bytes)) /
                              part_bytes;
  const double parts_of_stripe = static_cast<double>(stripe) / part_bytes;
  const double servers = plan.layout.stripe_count;
  // So many stripes are touched by parts in a row, wherever they begin, on average.
  const double busy = std::clamp(1 + (window_parts - 1) / parts_of_stripe, 1.0, servers);
  return {.part_bytes = part_bytes,
          .parts_in_flight = std::max(1.0, window_parts / busy),
          .share = busy / servers};
}

/// The bytes of stripes j, j + stripe_count, ... of a file.
double bytes_of_column(const TransferPlan& plan, std::uint64_t column) {
  const std::uint64_t stripe = plan.layout.stripe_bytes;
  const std::uint64_t row = stripe * plan.layout.stripe_count;
  const std::uint64_t in_last_row = plan.bytes % row;
  const std::uint64_t before = std::min(in_last_row, column * stripe);
  const std::uint64_t whole_rows = plan.bytes / row;
  return static_cast<double>(whole_rows * stripe + std::min(in_last_row - before, stripe));
}

}  // namespace

double answer_time_us(const ServerGroup& server, const Load& load) {
  FOREBAY_ASSERT(load.in_flight >= 1);
  const Service service = service_of(server, load.kind, static_cast<double>(load.request_bytes));
  return load.in_flight / service.rate(load.in_flight);
}

double rate_mb_per_s(const ServerGroup& server, const Load& load) {
  const auto bytes = static_cast<double>(load.request_bytes);
  return bytes * service_of(server, load.kind, bytes).rate(load.in_flight);
}

double storage_limit_mb_per_s(const Machine& machine, RequestKind kind) {
  double servers = 0;
  for (const ServerGroup& group : machine.servers)
    servers += group.count * bandwidth_of(group, kind);
  const double link = machine.client.link_bandwidth_mb_per_s;
  return std::min(servers, link == 0 ? kInfinite : link * machine.client.count);
}

double name_operations_per_s(const Machine& machine, RequestKind kind, double in_flight) {
  const double cost = cost_us(machine.metadata, kind);
  const double served = std::min<double>(in_flight, machine.metadata.concurrency) / cost;
  const double asked = in_flight / (cost + machine.client.link_latency_us);
  return machine.metadata.servers * std::min(served, asked) * kUsPerS;
}

double transfer_time_us(const Machine& machine, const TransferPlan& plan) {
  FOREBAY_ASSERT(plan.agents >= 1);
  FOREBAY_ASSERT(plan.depth >= 1);
  FOREBAY_ASSERT(plan.clients >= 1);
  if (plan.bytes == 0) return 0;
  const Spread spread = spread_of(machine, plan);
  const double link = machine.client.link_bandwidth_mb_per_s;
  const double outside_us = machine.client.link_latency_us + transfer_us(spread.part_bytes, link);
  double slowest_us = 0;
  for (std::uint32_t column = 0; column < plan.layout.stripe_count; ++column) {
    const std::uint32_t index = (plan.layout.first_server + column) % machine.server_count();
    Service service = service_of(machine.server(index), plan.kind, spread.part_bytes);
    service.outside_us = outside_us;
    const double parts = bytes_of_column(plan, column) / spread.part_bytes;
    if (parts == 0) continue;
    slowest_us = std::max(slowest_us, makespan_us(service, parts, spread.parts_in_flight));
  }
  const double by_links_us = transfer_us(static_cast<double>(plan.bytes), link * plan.clients);
  return std::max(slowest_us / spread.share, by_links_us);
}

}  // namespace forebay::model
