// SPDX-License-Identifier: Apache-2.0
#include "write/step_formulas.hpp"

#include <algorithm>
#include <cmath>

#include "write/file_layout.hpp"

namespace forebay::write {

namespace {

using model::RequestKind;

/// Load of one server that takes fractions of bytes.
model::Load load_of(double rpc_bytes, double in_flight = 1) {
  return {.kind = RequestKind::kWrite,
          .request_bytes = static_cast<std::uint64_t>(std::max(1.0, rpc_bytes)),
          .in_flight = std::max(1.0, in_flight)};
}

}  // namespace

StepFormulas::StepFormulas(const model::Machine& machine, const WritePlan& plan)
    : machine_(machine), plan_(plan) {
  const model::Layout layout = layout_of_file(machine, plan, 0);
  const TransferMode mode = plan.tuning.transfer_mode.value_or(TransferMode::kIndependent);
  stripe_bytes_ = static_cast<double>(layout.stripe_bytes);
  stripe_count_ = layout.stripe_count;
  unit_ = static_cast<double>(segment_bytes_of(plan));
  requests_ = mode == TransferMode::kCollective ? 1 : kRequestsPerWriter;
  is_baton_ = mode == TransferMode::kBaton;
}

double StepFormulas::rpc_bytes(double writer_bytes) const {
  const auto longest = static_cast<double>(machine_.client.request_bytes_max);
  return std::max(1.0, std::min({unit_, stripe_bytes_, longest, writer_bytes}));
}

double StepFormulas::servers_of_file(double bytes) const {
  return std::min(stripe_count_, std::max(1.0, std::ceil(bytes / stripe_bytes_)));
}

double StepFormulas::servers_in_use(double requests) const {
  const double stripes = unit_ / stripe_bytes_;
  const double touched = stripes >= 1 ? requests * stripes : 1 + (requests - 1) * stripes;
  return std::clamp(std::floor(touched), 1.0, stripe_count_);
}

double StepFormulas::requests_in_flight(double bytes) const {
  return std::clamp(std::ceil(bytes / unit_), 1.0, requests_);
}

double StepFormulas::link_us(double bytes) const {
  return transfer_us(bytes, machine_.client.link_bandwidth_mb_per_s);
}

double StepFormulas::network_us(double bytes) const {
  const model::Clients& client = machine_.client;
  const model::Network links{client.link_latency_us, client.link_bandwidth_mb_per_s};
  const model::Network& network = machine_.network ? *machine_.network : links;
  return bytes == 0 ? 0 : transfer_us(bytes, network.bandwidth_mb_per_s) + network.latency_us;
}

double StepFormulas::io_node_us(double bytes) const {
  return transfer_us(bytes, machine_.io_nodes.bandwidth_mb_per_s);
}

/// The owner creates a file; then the other writers open it.
double StepFormulas::metadata_us(double creates, double opens) const {
  const model::MetadataServers& servers = machine_.metadata;
  const double links = (opens > 0 ? 2 : 1) * machine_.client.link_latency_us;
  return (std::ceil(creates / servers.concurrency) * servers.create_us +
          std::ceil(opens / servers.concurrency) * servers.open_us + links) /
         plan_.tuning.steps_per_group;
}

double StepFormulas::first_create_us() const {
  return (machine_.metadata.create_us + machine_.client.link_latency_us) /
         plan_.tuning.steps_per_group;
}

double StepFormulas::request_us(double bytes) const {
  return model::response_time_us(machine_.servers.front(), load_of(rpc_bytes(bytes))) +
         machine_.client.link_latency_us + machine_.io_nodes.latency_us + link_us(bytes);
}

double StepFormulas::writer_us(double bytes) const {
  if (bytes == 0) return 0;
  const double rpc = rpc_bytes(bytes);
  const double requests = requests_in_flight(bytes);
  const double in_use = servers_in_use(std::min(requests, std::ceil(bytes / rpc)));
  const ServerActivity alone{rpc, requests * std::min(unit_, bytes) / rpc / in_use};
  const model::ServerGroup& server = machine_.servers.front();
  const double by_link = server.write_latency_us + link_us(bytes);
  const double by_server = server_us(server, bytes / in_use, alone);
  const double requests_in_turn = bytes / unit_ / requests;
  const double latency_us = machine_.client.link_latency_us + machine_.io_nodes.latency_us;
  return std::max({by_link, by_server, io_node_us(bytes)}) +
         latency_us * std::max(1.0, requests_in_turn);
}

/// Latency and service of the first RPCs, then the others at the rate of the server.
double StepFormulas::server_us(const model::ServerGroup& server,
                               double bytes,
                               const ServerActivity& activity) {
  const double rpcs = bytes / activity.rpc_bytes;
  const double in_flight = std::max(1.0, activity.rpcs_in_flight);
  const double first = std::min({rpcs, in_flight, double(server.concurrency)});
  const double service_us = transfer_us(activity.rpc_bytes, server.write_bandwidth_mb_per_s) +
                            (server.latency_overlaps ? 0 : server.write_latency_us);
  const double latency_us = server.latency_overlaps ? server.write_latency_us : 0;
  const double rate = model::rate_mb_per_s(server, load_of(activity.rpc_bytes, in_flight));
  return latency_us + first * service_us + (rpcs - first) * transfer_us(activity.rpc_bytes, rate);
}

double StepFormulas::locks_us(const FileLoad& file) const {
  const model::Locks& locks = machine_.locks;
  if (locks.unit == model::LockUnit::kNone || file.clients < 2) return 0;
  if (is_baton_) return (file.writers - 1) * locks.change_us;
  if (locks.unit == model::LockUnit::kObject) return 0;
  const double requests = std::ceil(file.bytes / unit_);
  const double one_us = request_us(unit_) + locks.change_us;
  if (locks.unit == model::LockUnit::kFile) {
    // A client gets the lock for all of its requests in flight; then the next one waits for them.
    const double batch = requests_ * unit_;
    return std::ceil(file.bytes / batch) *
           (locks.change_us + writer_us(std::min(batch, file.bytes)));
  }
  const double lock =
      locks.unit == model::LockUnit::kBytes ? static_cast<double>(locks.unit_bytes) : stripe_bytes_;
  if (std::fmod(static_cast<double>(plan_.tuning.alignment_bytes), lock) == 0) return 0;
  // Allocations that share a lock wait for each other; those on other locks proceed in parallel.
  // About every second one of consecutive requests is of another client.
  const double in_a_row = std::max(2.0, lock / unit_);
  return requests / 2 * one_us / std::max(1.0, file.writers * requests_ / in_a_row);
}

/// Among waiting clients, the one with the highest offset gets a lock up to the end of the object,
/// and the next client revokes it. So the requests in flight to a file get its locks in rounds.
double StepFormulas::lock_rounds(const FileLoad& file) const {
  if (machine_.locks.unit != model::LockUnit::kObject || is_baton_ || file.clients < 2) return 0;
  const double rpc = rpc_bytes(file.bytes / file.writers);
  const double in_flight =
      file.writers * requests_in_flight(file.bytes / file.writers) * std::max(1.0, unit_ / rpc);
  return std::ceil(std::ceil(file.bytes / rpc) / std::max(1.0, in_flight));
}

/// In each round, a server serves one RPC alone.
double StepFormulas::lock_round_us() const {
  return machine_.locks.change_us + machine_.servers.front().write_latency_us;
}

double StepFormulas::sharing_us(const FileLoad& file, double writer_bytes) const {
  if (file.writers < 2) return 0;
  return std::max(transfer_us(writer_bytes, machine_.sharing.writer_mb_per_s),
                  transfer_us(file.bytes, machine_.sharing.file_mb_per_s));
}

double overlapped_us(std::span<const double> stages, double power) {
  const double longest = *std::ranges::max_element(stages);
  if (power == 0 || longest == 0) return longest;
  double sum = 0;
  for (const double stage : stages)
    sum += std::pow(stage / longest, power);
  return longest * std::pow(sum, 1 / power);
}

}  // namespace forebay::write
