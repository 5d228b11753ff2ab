// SPDX-License-Identifier: Apache-2.0
#include "model/read_cost.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "model/queueing.hpp"

namespace forebay::model {

namespace {

/// `opens` of one name, which one metadata server has.
double open_time_us(const Machine& machine, double opens) {
  const MetadataServers& metadata = machine.metadata;
  return std::ceil(opens / metadata.concurrency) * metadata.open_us +
         machine.client.link_latency_us;
}

ReadCost session_cost(const Machine& machine, const ReadJob& job, const ReadShape& shape) {
  const Network links{machine.client.link_latency_us, machine.client.link_bandwidth_mb_per_s};
  const Network& network = machine.network ? *machine.network : links;
  const TransferPlan transfer{.bytes = job.bytes,
                              .agents = shape.agents,
                              .depth = shape.queue_depth,
                              .request_bytes = shape.request_bytes,
                              .clients = std::min(shape.agents, job.nodes),
                              .layout = layout_of_new_file(machine, 0),
                              .order = RequestOrder::kByServer};
  ReadCost cost;
  cost.open_us = open_time_us(machine, shape.agents);
  cost.read_us = transfer_time_us(machine, transfer);
  const double of_rank = static_cast<double>(job.bytes) / job.ranks;
  const double tasks_of_rank = std::ceil(static_cast<double>(job.tasks) / job.ranks);
  // Tasks are anywhere, so most bytes of an agent go to other nodes.
  const double sent = static_cast<double>(job.bytes) / transfer.clients * (job.nodes - 1) /
                      static_cast<double>(job.nodes);
  cost.deliver_us = std::max(transfer_us(of_rank, machine.client.copy_mb_per_s),
                             transfer_us(sent, network.bandwidth_mb_per_s)) +
                    tasks_of_rank * (job.task_us + network.latency_us);
  const double last_us =
      transfer_us(static_cast<double>(shape.splinter_bytes), network.bandwidth_mb_per_s) +
      job.task_us + network.latency_us;
  cost.total_us = cost.open_us + std::max(cost.read_us, cost.deliver_us) + last_us;
  cost.memory_bytes = 2 * std::max(shape.queue_depth * shape.request_bytes, shape.splinter_bytes);
  return cost;
}

ReadCost task_cost(const Machine& machine, const ReadJob& job, ReadMethod method) {
  const auto readers = static_cast<std::uint32_t>(std::min<std::uint64_t>(job.tasks, job.ranks));
  const std::uint64_t part = std::max<std::uint64_t>(1, job.bytes / job.tasks);
  const TransferPlan transfer{.bytes = job.bytes,
                              .agents = readers,
                              .request_bytes = part,
                              .clients = std::min(readers, job.nodes),
                              .layout = layout_of_new_file(machine, 0)};
  ReadCost cost;
  const bool is_per_call = method == ReadMethod::kPerCall;
  cost.open_us = open_time_us(machine, is_per_call ? static_cast<double>(job.tasks) : readers);
  cost.read_us = transfer_time_us(machine, transfer);
  cost.deliver_us = std::ceil(static_cast<double>(job.tasks) / job.ranks) * job.task_us;
  cost.total_us = std::max(cost.open_us, cost.read_us) + cost.deliver_us +
                  std::min(cost.open_us, machine.metadata.open_us);
  cost.memory_bytes = part;
  return cost;
}

}  // namespace

ReadCost read_cost(const Machine& machine, const ReadJob& job, const ReadShape& shape) {
  FOREBAY_ASSERT(job.tasks >= 1);
  FOREBAY_ASSERT(job.ranks >= 1);
  FOREBAY_ASSERT(job.nodes >= 1);
  if (shape.method == ReadMethod::kSession) return session_cost(machine, job, shape);
  return task_cost(machine, job, shape.method);
}

}  // namespace forebay::model
