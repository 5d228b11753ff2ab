// SPDX-License-Identifier: Apache-2.0
// Closed forms, based on one property of queues without randomness. A closed loop of requests
// reaches the rate of its bottleneck: the requests in flight, the slots of a server, or its
// channel.
#include "model/queueing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUsPerS = 1e6;

/// One request alone at one server.
struct Service {
  double latency_us = 0;
  double transfer_us = 0;
  double network_us = 0;  ///< on the link; it occupies no slot
  double concurrency = 1;
  bool latency_overlaps = true;

  double service_time_us() const { return latency_us + transfer_us; }
  /// Time for which it occupies the channel.
  double channel_time_us() const { return latency_overlaps ? transfer_us : service_time_us(); }
  /// Requests in service at once.
  double in_service(double in_flight) const { return std::min(in_flight, concurrency); }

  /// Requests completed per microsecond.
  double rate(double in_flight) const {
    const double by_load = in_flight / (service_time_us() + network_us);
    const double by_places = concurrency / service_time_us();
    return std::min({by_load, by_places, 1 / channel_time_us()});
  }
};

Service service_of(const ServerGroup& server, RequestKind kind, double request_bytes) {
  FOREBAY_ASSERT(is_data_request(kind));
  const bool reads = kind == RequestKind::kRead;
  const double bandwidth = reads ? server.bandwidth_mb_per_s : server.write_bandwidth_mb_per_s;
  return {.latency_us = reads ? server.latency_us : server.write_latency_us,
          .transfer_us = transfer_us(request_bytes, bandwidth),
          .concurrency = static_cast<double>(server.concurrency),
          .latency_overlaps = server.latency_overlaps};
}

double limit_of(const StorageLimits& limits, RequestKind kind) {
  return kind == RequestKind::kRead ? limits.read_mb_per_s : limits.write_mb_per_s;
}

double bandwidth_of(const ServerGroup& server, RequestKind kind) {
  const bool reads = kind == RequestKind::kRead;
  const double bandwidth = reads ? server.bandwidth_mb_per_s : server.write_bandwidth_mb_per_s;
  return bandwidth == 0 ? kInfinite : bandwidth;
}

double cost_us(const MetadataServers& metadata, RequestKind kind) {
  FOREBAY_ASSERT(is_metadata_request(kind));
  switch (kind) {
    case RequestKind::kCreate:
      return metadata.create_us;
    case RequestKind::kOpen:
      return metadata.open_us;
    case RequestKind::kStat:
      return metadata.stat_us;
    case RequestKind::kSyncDirectory:
      return metadata.sync_us;
    default:
      return metadata.unlink_us;
  }
}

/// Duration of `requests` requests to one server, with `in_flight` of them in flight while any
/// remain.
double makespan_us(const Service& service, double requests, double in_flight) {
  const double first_round = std::min(service.in_service(in_flight), requests);
  const double first_round_us = service.service_time_us() + service.network_us +
                                (first_round - 1) * service.channel_time_us();
  return first_round_us + (requests - first_round) / service.rate(in_flight);
}

/// How a plan is spread over the servers of the file's layout.
struct ServerLoad {
  double part_bytes = 0;
  double parts_of_request = 1;
  double requests_in_flight = 1;
  double servers_of_request = 1;  ///< that have a part of one request
  double servers_in_use = 1;      ///< that have a part of the requests in flight
  double parts_in_flight = 1;     ///< at each of these
};

ServerLoad server_load_of(const Machine& machine, const TransferPlan& plan) {
  const std::uint64_t stripe =
      plan.layout.stripe_count == 1 ? plan.bytes : plan.layout.stripe_bytes;
  const std::uint64_t request = std::min(plan.request_bytes, plan.bytes);
  const std::uint64_t part = std::min({request, stripe, machine.client.request_bytes_max});
  ServerLoad server_load{.part_bytes = static_cast<double>(part)};
  server_load.parts_of_request = static_cast<double>(request) / server_load.part_bytes;
  server_load.requests_in_flight = static_cast<double>(plan.agents) * plan.depth;
  const double parts_in_flight = server_load.requests_in_flight * server_load.parts_of_request;
  const double servers = plan.layout.stripe_count;
  const double stripes_of_request = static_cast<double>(request) / static_cast<double>(stripe);
  // Average number of stripes that contiguous requests touch, wherever they begin.
  const double stripes_in_flight =
      stripes_of_request >= 1 ? server_load.requests_in_flight * stripes_of_request
                              : 1 + (server_load.requests_in_flight - 1) * stripes_of_request;
  const bool by_server = plan.order == RequestOrder::kByServer;
  const double stripes =
      std::ceil(static_cast<double>(plan.bytes) / static_cast<double>(plan.layout.stripe_bytes));
  server_load.servers_of_request = std::clamp(stripes_of_request, 1.0, servers);
  server_load.servers_in_use = by_server
                                   ? std::min({stripes, servers, server_load.requests_in_flight})
                                   : std::clamp(stripes_in_flight, 1.0, servers);
  server_load.parts_in_flight = std::max(1.0, parts_in_flight / server_load.servers_in_use);
  return server_load;
}

/// The bytes of stripes `column`, `column` + stripe_count, ... of a file.
double object_bytes(const TransferPlan& plan, std::uint64_t column) {
  const std::uint64_t stripe = plan.layout.stripe_bytes;
  const std::uint64_t row = stripe * plan.layout.stripe_count;
  const std::uint64_t in_last_row = plan.bytes % row;
  const std::uint64_t before = std::min(in_last_row, column * stripe);
  const std::uint64_t whole_rows = plan.bytes / row;
  return static_cast<double>(whole_rows * stripe + std::min(in_last_row - before, stripe));
}

/// Times of a plan on the servers of a layout.
struct ServerTimes {
  double slowest_us = 0;      ///< maximum over servers, each with its own bytes
  double sum_us = 0;          ///< one server after the other
  double one_request_us = 0;  ///< maximum over servers
};

ServerTimes server_times(const Machine& machine,
                         const TransferPlan& plan,
                         const ServerLoad& server_load) {
  const double link = machine.client.link_bandwidth_mb_per_s;
  const double link_us = transfer_us(server_load.part_bytes, link);
  const double parts_of_request =
      std::ceil(server_load.parts_of_request / server_load.servers_of_request);
  ServerTimes times;
  for (std::uint32_t column = 0; column < plan.layout.stripe_count; ++column) {
    const std::uint32_t index = (plan.layout.first_server + column) % machine.server_count();
    Service service = service_of(machine.server(index), plan.kind, server_load.part_bytes);
    service.network_us =
        machine.client.link_latency_us + machine.io_nodes.latency_us + link_us + plan.think_time_us;
    const double parts = object_bytes(plan, column) / server_load.part_bytes;
    if (parts == 0) continue;
    const double all_us = makespan_us(service, parts, server_load.parts_in_flight);
    const double one_us = makespan_us(service, parts_of_request, parts_of_request) +
                          std::max(0.0, server_load.parts_of_request - parts_of_request) * link_us;
    times.slowest_us = std::max(times.slowest_us, all_us);
    times.sum_us += all_us;
    times.one_request_us = std::max(times.one_request_us, one_us);
  }
  return times;
}

}  // namespace

double response_time_us(const ServerGroup& server, const Load& load) {
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
  const auto limit = [](double mb_per_s, double count) {
    return mb_per_s == 0 || count == 0 ? kInfinite : mb_per_s * count;
  };
  return std::min({servers, limit(limit_of(machine.storage, kind), 1),
                   limit(machine.client.link_bandwidth_mb_per_s, machine.client.count),
                   limit(machine.io_nodes.bandwidth_mb_per_s, machine.io_nodes.count)});
}

double metadata_operations_per_s(const Machine& machine, RequestKind kind, double in_flight) {
  const double cost = cost_us(machine.metadata, kind);
  const double served = std::min<double>(in_flight, machine.metadata.concurrency) / cost;
  const double requested = in_flight / (cost + machine.client.link_latency_us);
  return machine.metadata.servers * std::min(served, requested) * kUsPerS;
}

double transfer_time_us(const Machine& machine, const TransferPlan& plan) {
  FOREBAY_ASSERT(plan.agents >= 1);
  FOREBAY_ASSERT(plan.depth >= 1);
  FOREBAY_ASSERT(plan.clients >= 1);
  if (plan.bytes == 0) return 0;
  const ServerLoad server_load = server_load_of(machine, plan);
  const ServerTimes times = server_times(machine, plan, server_load);
  const auto bytes = static_cast<double>(plan.bytes);
  const double parts = bytes / server_load.part_bytes;
  const double by_servers_us =
      std::max(times.slowest_us, times.sum_us / server_load.servers_in_use);
  // A request ends with its last part, so few requests of many parts leave servers idle.
  const double by_requests_us =
      parts / server_load.parts_of_request / server_load.requests_in_flight * times.one_request_us;
  const double by_links_us =
      transfer_us(bytes, machine.client.link_bandwidth_mb_per_s * plan.clients);
  const double by_limit_us = transfer_us(bytes, limit_of(machine.storage, plan.kind));
  const double io_nodes = std::min(machine.io_nodes.count, plan.clients);
  const double by_io_nodes_us = transfer_us(bytes, machine.io_nodes.bandwidth_mb_per_s * io_nodes);
  return std::max({by_servers_us, by_requests_us, by_links_us, by_limit_us, by_io_nodes_us});
}

}  // namespace forebay::model
