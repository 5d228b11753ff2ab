// SPDX-License-Identifier: Apache-2.0
// Computes for each resource how long it works on the step: metadata servers, data servers, links,
// writers with their requests in flight, locks. The slowest resource determines the duration of the
// step.
#include "write/cost.hpp"

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/assert.hpp"
#include "model/queueing.hpp"
#include "write/file_layout.hpp"

namespace forebay::write {

namespace {

using model::Machine;
using model::RequestKind;

double transfer_time_us(double bytes, double mb_per_s) {
  return mb_per_s == 0 ? 0 : bytes / mb_per_s;
}

/// Work of one server: request fragments (RPCs) into which stripes and the client's request size
/// split requests.
struct ServerRequests {
  double rpc_bytes = 0;
  double rpcs = 0;
  double in_flight = 1;  ///< RPCs in flight at a time
};

/// Time that a server works on its RPCs: latency and service time of the first ones, then the
/// others at the rate of the server.
double busy_us(const model::ServerGroup& server, const ServerRequests& share) {
  const double in_flight = std::max(1.0, share.in_flight);
  const model::Load load{
      .kind = RequestKind::kWrite,
      .request_bytes = static_cast<std::uint64_t>(std::max(1.0, share.rpc_bytes)),
      .in_flight = in_flight};
  const double concurrent = std::min({share.rpcs, in_flight, double(server.concurrency)});
  const double service_us = transfer_time_us(share.rpc_bytes, server.write_bandwidth_mb_per_s) +
                            (server.latency_overlaps ? 0 : server.write_latency_us);
  const double latency_us = server.latency_overlaps ? server.write_latency_us : 0;
  const double rate = model::rate_mb_per_s(server, load);
  return latency_us + concurrent * service_us +
         (share.rpcs - concurrent) * transfer_time_us(share.rpc_bytes, rate);
}

/// Bytes of a step by writer, file, server and node.
struct StepLoads {
  std::vector<double> of_writer;  ///< by index of the writer
  std::vector<double> of_file;
  std::vector<double> of_server;
  std::vector<std::size_t> files_of_server;
  std::vector<std::size_t> remote_writers_of_server;  ///< on other nodes than the file's owner
  std::map<std::uint32_t, double> written_by_node;    ///< to storage
  std::map<std::uint32_t, double> sent_by_node;       ///< to other nodes
  std::map<std::uint32_t, double> received_by_node;
  double copied_bytes_max = 0;  ///< of one rank that receives bytes of others
};

class StepCostModel {
 public:
  StepCostModel(const WriteFacts& facts, const WritePlan& plan)
      : facts_(facts),
        plan_(plan),
        machine_(*facts.machine),
        aggregation_(facts.rank_layout, plan) {
    for (FileNumber file = 0; file < aggregation_.file_count(); ++file)
      layouts_.push_back(layout_of_file(machine_, plan_, file));
    compute_loads();
    compute_transfers();
    is_baton_ = plan_.tuning.transfer_mode == TransferMode::kBaton;
  }

  StepCost cost() const {
    StepCost cost;
    const FileCreationTimes creation = file_creation_times();
    cost.metadata_us = creation.last_us;
    const double writing_us = write_us();
    cost.storage_us = std::max(creation.first_us + writing_us, creation.last_us + last_writer_us());
    cost.exchange_us = exchange_us();
    cost.is_overlapped = plan_.tuning.exchange != Exchange::kGather;
    cost.sync_us = sync_us();
    return cost;
  }

 private:
  struct FileCreationTimes {
    double first_us = 0;
    double last_us = 0;
  };

  double bytes_of(RankNumber rank) const {
    return static_cast<double>(facts_.step_bytes.empty() ? kAssumedStepBytes
                                                         : facts_.bytes_of(rank));
  }
  void compute_loads();
  void compute_transfers();
  void add_transfer(RankNumber from, RankNumber to, double bytes);
  FileCreationTimes file_creation_times() const;
  double request_us(FileNumber file, double bytes) const;
  double single_writer_us(FileNumber file, double bytes) const;
  double write_us() const;
  double servers_us() const;
  double writers_us() const;
  double links_us() const;
  double locks_us() const;
  double locks_of_file_us(FileNumber file) const;
  double lock_rounds_of(FileNumber file) const;
  std::size_t clients_of(FileNumber file) const;
  double last_writer_us() const;
  std::size_t remote_writers_of(FileNumber file) const;
  double syncs_us(const std::vector<std::size_t>& syncs_of_server) const;
  double sync_us() const;
  double exchange_us() const;

  double rpc_bytes(FileNumber file) const {
    return static_cast<double>(std::min(
        {plan_.tuning.unit_bytes, layouts_[file].stripe_bytes, machine_.client.request_bytes_max}));
  }
  /// Servers of a file that `requests` consecutive requests use.
  double servers_in_use(FileNumber file, double requests) const {
    const double stripes = static_cast<double>(plan_.tuning.unit_bytes) /
                           static_cast<double>(layouts_[file].stripe_bytes);
    const double touched = stripes >= 1 ? requests * stripes : 1 + (requests - 1) * stripes;
    return std::clamp<double>(std::floor(touched), 1, layouts_[file].stripe_count);
  }
  double rpcs_of_request(FileNumber file) const {
    return static_cast<double>(plan_.tuning.unit_bytes) / rpc_bytes(file);
  }
  const model::ServerGroup& server_of(FileNumber file, std::uint32_t column) const {
    return machine_.server((layouts_[file].first_server + column) % machine_.server_count());
  }

  const WriteFacts& facts_;
  const WritePlan& plan_;
  const Machine& machine_;
  const AggregationMap aggregation_;
  std::vector<model::Layout> layouts_;
  StepLoads loads_;
  bool is_baton_ = false;
};

void StepCostModel::compute_loads() {
  loads_.of_file.resize(aggregation_.file_count());
  loads_.of_server.resize(machine_.server_count());
  loads_.files_of_server.resize(machine_.server_count());
  loads_.remote_writers_of_server.resize(machine_.server_count());
  for (const RankNumber writer : aggregation_.writers()) {
    double bytes = 0;
    for (const RankNumber rank : aggregation_.ranks_of_writer(writer))
      bytes += bytes_of(rank);
    loads_.of_writer.push_back(bytes);
    loads_.of_file[aggregation_.file_of(writer)] += bytes;
    loads_.written_by_node[facts_.rank_layout.node_of(writer)] += bytes;
  }
  for (FileNumber file = 0; file < aggregation_.file_count(); ++file) {
    const model::Layout& layout = layouts_[file];
    const double stripes =
        std::ceil(loads_.of_file[file] / static_cast<double>(layout.stripe_bytes));
    const double used = std::min<double>(layout.stripe_count, std::max(1.0, stripes));
    for (std::uint32_t column = 0; column < used; ++column) {
      const std::uint32_t server = (layout.first_server + column) % machine_.server_count();
      // Servers have whole stripes, the first ones one more.
      const double whole = std::ceil((stripes - column) / layout.stripe_count);
      const double bytes = whole * static_cast<double>(layout.stripe_bytes);
      loads_.of_server[server] += std::min(bytes, loads_.of_file[file]);
      ++loads_.files_of_server[server];
      loads_.remote_writers_of_server[server] += remote_writers_of(file);
    }
  }
}

void StepCostModel::add_transfer(RankNumber from, RankNumber to, double bytes) {
  const std::uint32_t here = facts_.rank_layout.node_of(from);
  const std::uint32_t there = facts_.rank_layout.node_of(to);
  if (here == there) return;
  loads_.sent_by_node[here] += bytes;
  loads_.received_by_node[there] += bytes;
}

void StepCostModel::compute_transfers() {
  const bool chain = plan_.tuning.exchange == Exchange::kBrigade;
  const bool shared = plan_.tuning.exchange == Exchange::kSharedMemory;
  for (const RankNumber writer : aggregation_.writers()) {
    const auto ranks = aggregation_.ranks_of_writer(writer);
    double through = 0;
    for (auto rank = ranks.rbegin(); rank != ranks.rend(); ++rank) {
      const auto next = aggregation_.next_hop(*rank);
      if (!next) continue;
      const double own = bytes_of(*rank);
      const bool together = facts_.rank_layout.node_of(*rank) == facts_.rank_layout.node_of(*next);
      if (!(shared && together)) through += own;
      add_transfer(*rank, *next, chain ? through : own);
    }
    loads_.copied_bytes_max = std::max(loads_.copied_bytes_max, through);
  }
}

/// The owner creates a file; then the other writers open it.
StepCostModel::FileCreationTimes StepCostModel::file_creation_times() const {
  const model::MetadataServers& servers = machine_.metadata;
  std::vector<std::uint32_t> creates(servers.servers);
  std::vector<std::uint32_t> opens(servers.servers);
  for (FileNumber file = 0; file < aggregation_.file_count(); ++file) {
    const auto server = model::metadata_server_of(name_hash_of_file(machine_, file), servers);
    ++creates[server];
    opens[server] += static_cast<std::uint32_t>(aggregation_.writers_of(file).size()) - 1;
  }
  const auto rounds = [&](std::uint32_t count) {
    const std::uint32_t whole = (count + servers.concurrency - 1) / servers.concurrency;
    return static_cast<double>(whole);
  };
  FileCreationTimes creation{.first_us = servers.create_us + machine_.client.link_latency_us};
  for (std::uint32_t i = 0; i < servers.servers; ++i) {
    const double links = (opens[i] > 0 ? 2 : 1) * machine_.client.link_latency_us;
    const double total_us =
        rounds(creates[i]) * servers.create_us + rounds(opens[i]) * servers.open_us;
    creation.last_us = std::max(creation.last_us, total_us + links);
  }
  const double shared_by = plan_.tuning.steps_per_group;
  return {creation.first_us / shared_by, creation.last_us / shared_by};
}

/// One request to idle storage.
double StepCostModel::request_us(FileNumber file, double bytes) const {
  const double bytes_of_rpc = std::min(bytes, rpc_bytes(file));
  const model::Load load{.kind = RequestKind::kWrite,
                         .request_bytes = static_cast<std::uint64_t>(std::max(1.0, bytes_of_rpc))};
  return model::response_time_us(server_of(file, 0), load) + machine_.client.link_latency_us +
         transfer_time_us(bytes, machine_.client.link_bandwidth_mb_per_s);
}

/// `bytes` of a file by one writer, without other writers.
double StepCostModel::single_writer_us(FileNumber file, double bytes) const {
  if (bytes == 0) return 0;
  const double bytes_of_rpc = std::min(rpc_bytes(file), bytes);
  const double requests = std::min<double>(
      facts_.requests_per_writer, std::ceil(bytes / static_cast<double>(plan_.tuning.unit_bytes)));
  const double in_use = servers_in_use(file, std::min(requests, std::ceil(bytes / bytes_of_rpc)));
  const ServerRequests share{.rpc_bytes = bytes_of_rpc,
                             .rpcs = bytes / bytes_of_rpc / in_use,
                             .in_flight = requests * rpcs_of_request(file) / in_use};
  const double link = machine_.client.link_bandwidth_mb_per_s;
  const double by_link = server_of(file, 0).write_latency_us + transfer_time_us(bytes, link);
  double longest = by_link;
  for (std::uint32_t column = 0; column < static_cast<std::uint32_t>(in_use); ++column)
    longest = std::max(longest, busy_us(server_of(file, column), share));
  return longest + machine_.client.link_latency_us;
}

double StepCostModel::servers_us() const {
  double rpcs_in_flight = 0;
  double rpc_bytes_max = 0;
  double in_use = 0;
  for (FileNumber file = 0; file < aggregation_.file_count(); ++file) {
    const double concurrent =
        is_baton_ ? 1 : static_cast<double>(aggregation_.writers_of(file).size());
    const double requests = concurrent * facts_.requests_per_writer;
    rpcs_in_flight += requests * rpcs_of_request(file);
    rpc_bytes_max = std::max(rpc_bytes_max, rpc_bytes(file));
    in_use += servers_in_use(file, requests);
  }
  const auto loaded = std::ranges::count_if(loads_.of_server, [](double load) { return load > 0; });
  in_use = std::min<double>(in_use, static_cast<double>(loaded));
  // A server is active for 1 / loaded_per_active of the time.
  const double loaded_per_active = static_cast<double>(loaded) / std::max(1.0, in_use);
  double longest = 0;
  for (std::uint32_t i = 0; i < machine_.server_count(); ++i) {
    if (loads_.of_server[i] == 0) continue;
    const ServerRequests share{.rpc_bytes = rpc_bytes_max,
                               .rpcs = loads_.of_server[i] / rpc_bytes_max * loaded_per_active,
                               .in_flight = rpcs_in_flight / std::max(1.0, in_use)};
    longest = std::max(longest, busy_us(machine_.server(i), share));
  }
  return longest;
}

double StepCostModel::writers_us() const {
  std::vector<double> of_file(aggregation_.file_count());
  for (std::uint32_t i = 0; i < aggregation_.writer_count(); ++i) {
    const FileNumber file = aggregation_.file_of(aggregation_.writers()[i]);
    const double one = single_writer_us(file, loads_.of_writer[i]);
    of_file[file] = is_baton_ ? of_file[file] + one : std::max(of_file[file], one);
  }
  return *std::ranges::max_element(of_file);
}

double StepCostModel::links_us() const {
  double longest = 0;
  for (const auto& [node, bytes] : loads_.written_by_node) {
    const auto sent = loads_.sent_by_node.find(node);
    const double total_bytes = bytes + (sent == loads_.sent_by_node.end() ? 0 : sent->second);
    longest =
        std::max(longest, transfer_time_us(total_bytes, machine_.client.link_bandwidth_mb_per_s));
  }
  return longest;
}

std::size_t StepCostModel::clients_of(FileNumber file) const {
  std::set<std::uint32_t> clients;
  for (const RankNumber writer : aggregation_.writers_of(file))
    clients.insert(facts_.rank_layout.node_of(writer));
  return clients.size();
}

double StepCostModel::locks_of_file_us(FileNumber file) const {
  const model::Locks& locks = machine_.locks;
  if (locks.unit == model::LockUnit::kNone) return 0;
  const auto writers = aggregation_.writers_of(file);
  if (clients_of(file) < 2) return 0;
  if (is_baton_) return static_cast<double>(writers.size() - 1) * locks.change_us;
  const double unit = static_cast<double>(plan_.tuning.unit_bytes);
  const double requests = std::ceil(loads_.of_file[file] / unit);
  const double one_us = request_us(file, unit) + locks.change_us;
  if (locks.unit == model::LockUnit::kFile) return requests * one_us;
  if (locks.unit == model::LockUnit::kObject) return 0;
  const std::uint64_t lock =
      locks.unit == model::LockUnit::kBytes ? locks.unit_bytes : layouts_[file].stripe_bytes;
  if (plan_.tuning.alignment_bytes % lock == 0) return 0;
  // Allocations that share a lock wait for each other; those on other locks proceed in parallel.
  // About every second one of consecutive requests is of another client.
  const double in_a_row = std::max(2.0, static_cast<double>(lock) / unit);
  const double in_flight = static_cast<double>(writers.size()) * facts_.requests_per_writer;
  return requests / 2 * one_us / std::max(1.0, in_flight / in_a_row);
}

/// Among waiting clients, the one with the highest offset gets a lock up to the end of the object,
/// and the next client revokes it. So the requests in flight to a file get its locks in rounds, and
/// each round revokes one lock.
double StepCostModel::lock_rounds_of(FileNumber file) const {
  if (machine_.locks.unit != model::LockUnit::kObject || is_baton_) return 0;
  if (clients_of(file) < 2) return 0;
  const double rpcs = std::ceil(loads_.of_file[file] / rpc_bytes(file));
  const double writers = static_cast<double>(aggregation_.writers_of(file).size());
  const double in_flight = writers * facts_.requests_per_writer * rpcs_of_request(file);
  return std::ceil(rpcs / std::max(1.0, in_flight));
}

double StepCostModel::locks_us() const {
  double longest = 0;
  for (FileNumber file = 0; file < aggregation_.file_count(); ++file)
    longest = std::max(longest, locks_of_file_us(file));
  return longest;
}

double StepCostModel::write_us() const {
  double rounds = 0;
  for (FileNumber file = 0; file < aggregation_.file_count(); ++file)
    rounds = std::max(rounds, lock_rounds_of(file));
  // In each round, a server serves one RPC alone. This latency adds to the time of busy servers.
  const double servers = servers_us() + rounds * server_of(0, 0).write_latency_us;
  return std::max({servers, writers_us(), links_us(), locks_us()}) +
         rounds * machine_.locks.change_us;
}

/// Time to write after the last file exists: that of the writer with the fewest bytes.
double StepCostModel::last_writer_us() const {
  const auto least = std::ranges::min_element(loads_.of_writer);
  const auto number = static_cast<std::size_t>(least - loads_.of_writer.begin());
  const FileNumber file = aggregation_.file_of(aggregation_.writers()[number]);
  const double round_us = machine_.locks.change_us + server_of(file, 0).write_latency_us;
  return single_writer_us(file, *least) + (lock_rounds_of(file) > 0 ? round_us : 0);
}

std::size_t StepCostModel::remote_writers_of(FileNumber file) const {
  const std::uint32_t node = facts_.rank_layout.node_of(aggregation_.owner_of(file));
  const auto is_remote = [&](RankNumber one) { return facts_.rank_layout.node_of(one) != node; };
  const auto writers = aggregation_.writers_of(file);
  return static_cast<std::size_t>(std::ranges::count_if(writers, is_remote));
}

/// Concurrent syncs. At each server the first one has a commit, and all others share the next one.
double StepCostModel::syncs_us(const std::vector<std::size_t>& syncs_of_server) const {
  double longest = 0;
  for (std::uint32_t i = 0; i < machine_.server_count(); ++i) {
    const double commits = static_cast<double>(std::min<std::size_t>(syncs_of_server[i], 2));
    longest = std::max(longest, commits * machine_.server(i).sync_us);
  }
  return longest == 0 ? 0 : longest + machine_.client.link_latency_us;
}

/// Writers on other nodes than the owner of the file sync; then its owner writes the index and
/// syncs. Then the directory is synced, and the slot that publishes the step is written and synced.
double StepCostModel::sync_us() const {
  std::vector<std::size_t> publication(machine_.server_count());
  const model::Layout commits = model::layout_of_new_file(machine_, aggregation_.file_count());
  publication[model::server_of(commits, 0, machine_.server_count())] = 1;
  const double directory_us = machine_.metadata.sync_us;
  return syncs_us(loads_.remote_writers_of_server) + request_us(0, 4096) +
         syncs_us(loads_.files_of_server) +
         (directory_us == 0 ? 0 : directory_us + machine_.client.link_latency_us) +
         request_us(0, 4096) + syncs_us(publication);
}

double StepCostModel::exchange_us() const {
  double longest = loads_.copied_bytes_max / kCopyMbPerS;
  const double link = machine_.client.link_bandwidth_mb_per_s;
  for (const auto& [node, bytes] : loads_.sent_by_node)
    longest = std::max(longest, transfer_time_us(bytes, link) + machine_.client.link_latency_us);
  for (const auto& [node, bytes] : loads_.received_by_node)
    longest = std::max(longest, transfer_time_us(bytes, link) + machine_.client.link_latency_us);
  return longest;
}

}  // namespace

StepCost step_cost(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return StepCostModel(facts, plan).cost();
}

}  // namespace forebay::write
