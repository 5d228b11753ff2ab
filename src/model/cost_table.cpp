// SPDX-License-Identifier: Apache-2.0
// Converts the units of machine files to those of the model.
#include "model/cost_table.hpp"

#include <cmath>

namespace forebay::model {

namespace {

constexpr double kNsPerUs = 1000;

Time time_of(double us) { return Time(std::llround(us * kNsPerUs)); }

/// 10^6 bytes per second are one byte in 1000 ns; 0: no limit.
double ns_per_byte(double mb_per_s) { return mb_per_s == 0 ? 0 : kNsPerUs / mb_per_s; }

Cost cost_of(const ServerGroup& server, RequestKind kind) {
  const bool reads = kind == RequestKind::kRead;
  const double latency_us = reads ? server.latency_us : server.write_latency_us;
  const double bandwidth = reads ? server.bandwidth_mb_per_s : server.write_bandwidth_mb_per_s;
  Cost cost{.transfer_ns_per_byte = ns_per_byte(bandwidth), .has_transfer = bandwidth > 0};
  if (server.latency_overlaps) {
    cost.latency = time_of(latency_us);
  } else {
    cost.transfer_ns = latency_us * kNsPerUs;
    cost.has_transfer = true;
  }
  return cost;
}

}  // namespace

CostTable::CostTable(const Machine& machine)
    : metadata_costs_{Cost{},
                      Cost{},
                      Cost{},
                      {.latency = time_of(machine.metadata.create_us)},
                      {.latency = time_of(machine.metadata.open_us)},
                      {.latency = time_of(machine.metadata.stat_us)},
                      {.latency = time_of(machine.metadata.unlink_us)},
                      {.latency = time_of(machine.metadata.sync_us)}},
      lock_change_(time_of(machine.locks.change_us)),
      link_latency_(time_of(machine.client.link_latency_us)),
      link_ns_per_byte_(ns_per_byte(machine.client.link_bandwidth_mb_per_s)) {
  for (const ServerGroup& group : machine.servers) {
    data_costs_.insert(data_costs_.end(), group.count,
                       {cost_of(group, RequestKind::kRead), cost_of(group, RequestKind::kWrite)});
    sync_times_.insert(sync_times_.end(), group.count, time_of(group.sync_us));
  }
}

const Cost& CostTable::lookup(RequestKind kind, std::uint32_t server) const {
  const auto index = static_cast<std::size_t>(kind);
  return is_data_request(kind) ? data_costs_[server][index] : metadata_costs_[index];
}

}  // namespace forebay::model
