// SPDX-License-Identifier: Apache-2.0
// Computes the load of the busiest resource of each kind, and from that the time of a step: its
// slowest stage.
#include "write/cost.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "base/assert.hpp"
#include "write/step_formulas.hpp"

namespace forebay::write {

namespace {

/// Expected maximum of `count` values with a normal distribution, in standard deviations.
double expected_maximum(double count) {
  return count < 2 ? 0 : std::max(0.0, std::sqrt(2 * std::log(count)) - 0.6);
}

/// Shares of the busiest writers, files and nodes.
struct BusiestLoads {
  double writer_nodes = 1;
  double ranks_of_writer = 1;
  double writer_bytes = 0;  ///< on average
  double writer_bytes_max = 0;
  FileLoad file = {};
  double written_by_node = 0;  ///< to storage
  double sent_by_node = 0;     ///< to other nodes, also what the busiest node receives
  double copied_by_rank = 0;   ///< that receives bytes of others
};

class StepCostModel {
 public:
  StepCostModel(const model::Machine& machine, const StepTotals& totals, const WritePlan& plan)
      : machine_(machine), totals_(totals), plan_(plan), formulas_(machine, plan) {
    spread_ranks();
    spread_files();
    exchange_bytes();
  }

  StepCost cost() const {
    const double writers = plan_.writers;
    const double files = plan_.files;
    const double creates = names_of_server(files);
    const double opens = names_of_server(writers - files);
    StepCost cost;
    cost.metadata_us = formulas_.metadata_us(creates, opens);
    cost.storage_us =
        std::max(formulas_.first_create_us() + write_us(), cost.metadata_us + last_writer_us());
    cost.exchange_us = exchange_us();
    cost.written_us = written_us(cost);
    cost.sync_us = sync_us();
    cost.perceived_us = perceived_us(cost);
    return cost;
  }

  double servers_us(double busiest_bytes) const;

 private:
  void spread_ranks();
  void spread_files();
  void exchange_bytes();
  double names_of_server(double names) const;
  double active_servers(double requests_of_file, double servers_of_file) const;
  double file_bytes() const;
  double servers_us() const;
  double busiest_server_bytes() const;
  double writers_us() const;
  double storage_limit_us() const;
  double io_nodes_us() const;
  double write_us() const;
  double last_writer_us() const;
  double exchange_us() const;
  double written_us(const StepCost& cost) const;
  double syncs_us(double syncs_of_server) const;
  double objects_of_server(double servers_of_file) const;
  double sync_us() const;
  double perceived_us(const StepCost& cost) const;
  bool is_dedicated() const { return plan_.tuning.placement == Placement::kDedicated; }

  const model::Machine& machine_;
  const StepTotals& totals_;
  const WritePlan& plan_;
  const StepFormulas formulas_;
  BusiestLoads loads_;
};

/// As AggregationMap: with as many writers as nodes no run of ranks spans nodes, with fewer each
/// run consists of whole nodes.
void StepCostModel::spread_ranks() {
  const double writers = plan_.writers;
  const double mean_bytes = totals_.bytes / totals_.ranks;
  if (is_dedicated()) {
    loads_.ranks_of_writer = std::ceil(totals_.ranks / writers);
  } else if (writers >= totals_.nodes) {
    const double of_node = std::floor(writers / totals_.nodes);
    loads_.ranks_of_writer = std::ceil(totals_.ranks_of_node_max / of_node);
  } else {
    loads_.ranks_of_writer = std::ceil(totals_.nodes / writers) * totals_.ranks_of_node_max;
  }
  if (!is_dedicated())
    loads_.ranks_of_writer = std::min(loads_.ranks_of_writer, totals_.ranks - writers + 1);
  const double deviation = totals_.rank_bytes_deviation * std::sqrt(loads_.ranks_of_writer);
  const double most = loads_.ranks_of_writer * totals_.rank_bytes_max;
  loads_.writer_bytes = totals_.bytes / writers;
  loads_.writer_bytes_max =
      std::clamp(loads_.ranks_of_writer * mean_bytes + expected_maximum(writers) * deviation,
                 std::min(totals_.rank_bytes_max, most), most);
  loads_.writer_nodes = std::min(writers, totals_.nodes);
  loads_.written_by_node = std::max(loads_.writer_bytes_max,
                                    std::ceil(writers / totals_.nodes) * totals_.bytes / writers);
}

void StepCostModel::spread_files() {
  const double files = plan_.files;
  const double writers = plan_.writers;
  const double ranks_of_file = std::max(1.0, totals_.ranks / files);
  const double deviation = totals_.rank_bytes_deviation * std::sqrt(ranks_of_file);
  loads_.file.writers = std::ceil(writers / files);
  loads_.file.bytes = std::min(totals_.bytes, loads_.file.writers * loads_.writer_bytes +
                                                  expected_maximum(files) * deviation);
  const double writers_of_node = std::max(1.0, writers / totals_.nodes);
  // Runs of writers span one node more if they do not divide the writers of a node.
  const bool is_even = std::fmod(writers_of_node, loads_.file.writers) == 0 ||
                       std::fmod(loads_.file.writers, writers_of_node) == 0;
  loads_.file.clients =
      std::min({loads_.writer_nodes, loads_.file.writers,
                std::ceil(loads_.file.writers / writers_of_node) + (is_even ? 0 : 1)});
}

void StepCostModel::exchange_bytes() {
  if (plan_.tuning.exchange == Exchange::kNone) return;
  const double of_node = totals_.bytes / totals_.nodes;
  const double nodes_of_writer = std::ceil(totals_.nodes / loads_.writer_nodes);
  loads_.sent_by_node = (nodes_of_writer - 1) * of_node;
  const double own = is_dedicated() ? 0 : totals_.bytes / totals_.ranks;
  const bool is_shared = plan_.tuning.exchange == Exchange::kSharedMemory;
  loads_.copied_by_rank =
      is_shared ? loads_.sent_by_node
                : std::max(0.0, loads_.ranks_of_writer * totals_.bytes / totals_.ranks - own);
}

/// Of the busiest metadata server, if a hash assigns names to servers.
double StepCostModel::names_of_server(double names) const {
  const double servers = machine_.metadata.servers;
  if (machine_.metadata.spread == model::NameSpread::kDirectory || servers == 1) return names;
  const double mean = names / servers;
  return std::min(names, mean + expected_maximum(servers) * std::sqrt(mean));
}

/// Each file is on consecutive servers, and begins one server further than the file before, or on
/// the same.
double StepCostModel::objects_of_server(double servers_of_file) const {
  const double files = plan_.files;
  const double servers = machine_.server_count();
  if (machine_.layout.first_server) return files;
  return std::floor(files / servers) * servers_of_file +
         std::min(std::fmod(files, servers), servers_of_file);
}

double StepCostModel::servers_us() const { return servers_us(busiest_server_bytes()); }

double StepCostModel::servers_us(double busiest_bytes) const {
  const double files = plan_.files;
  const double of_file = formulas_.servers_of_file(file_bytes());
  const double rpc = formulas_.rpc_bytes(loads_.writer_bytes_max);
  const double concurrent = formulas_.is_baton() ? files : static_cast<double>(plan_.writers);
  const double requests = concurrent * formulas_.requests_in_flight(loads_.writer_bytes_max);
  const double unit = static_cast<double>(segment_bytes_of(plan_));
  const double rpcs = requests * std::max(1.0, std::min(unit, loads_.writer_bytes_max) / rpc);
  const double active = active_servers(std::max(1.0, requests / files), of_file);
  const double bytes = std::max(busiest_bytes, totals_.bytes / active);
  double longest = 0;
  for (const model::ServerGroup& group : machine_.servers)
    longest = std::max(longest, formulas_.server_us(group, bytes, {rpc, rpcs / active}));
  return longest;
}

/// Servers that work at a time. Files are written at about the same speed, so the servers in use of
/// each file are one further than those of the file before.
double StepCostModel::active_servers(double requests_of_file, double servers_of_file) const {
  const double in_use = std::min(servers_of_file, formulas_.servers_in_use(requests_of_file));
  const double others = machine_.layout.first_server ? 0 : plan_.files - 1.0;
  return std::min<double>(machine_.server_count(), in_use + others);
}

/// On average, with the bytes between the end of a writer's bytes and the next multiple of the
/// alignment.
double StepCostModel::file_bytes() const {
  const double alignment = static_cast<double>(plan_.tuning.alignment_bytes);
  const double even = std::ceil(loads_.writer_bytes / alignment) * alignment;
  const double padding =
      totals_.rank_bytes_deviation > 0 ? alignment / 2 : even - loads_.writer_bytes;
  return (totals_.bytes + plan_.writers * padding) / plan_.files;
}

/// Servers have whole stripes. Sizes that differ count by their deviation, unless all servers hold
/// a part of each file.
double StepCostModel::busiest_server_bytes() const {
  const double servers_of_file = formulas_.servers_of_file(file_bytes());
  const double stripe = static_cast<double>(
      plan_.tuning.stripe_bytes != 0 ? plan_.tuning.stripe_bytes : machine_.layout.stripe_bytes);
  const double servers = machine_.server_count();
  const double object =
      std::min(file_bytes(), std::ceil(file_bytes() / stripe / servers_of_file) * stripe);
  const double objects = objects_of_server(servers_of_file);
  const double file_deviation =
      totals_.rank_bytes_deviation * std::sqrt(std::max(1.0, totals_.ranks / plan_.files));
  const double deviation =
      (1 - servers_of_file / servers) * file_deviation / servers_of_file * std::sqrt(objects);
  return std::min(totals_.bytes, objects * object + expected_maximum(servers) * deviation);
}

double StepCostModel::writers_us() const {
  if (!formulas_.is_baton()) return formulas_.writer_us(loads_.writer_bytes_max);
  return loads_.file.writers * formulas_.writer_us(loads_.writer_bytes);
}

double StepCostModel::storage_limit_us() const {
  return transfer_us(totals_.bytes, machine_.storage.write_mb_per_s);
}

double StepCostModel::io_nodes_us() const {
  if (machine_.io_nodes.count == 0) return 0;
  const auto nodes = static_cast<std::uint64_t>(totals_.nodes);
  const double used = std::min<double>(machine_.io_nodes_of(nodes), loads_.writer_nodes);
  return formulas_.io_node_us(
      std::max(loads_.written_by_node,
               std::ceil(loads_.writer_nodes / used) * totals_.bytes / loads_.writer_nodes));
}

double StepCostModel::write_us() const {
  const double rounds = formulas_.lock_rounds(loads_.file);
  // This latency adds to the time of busy servers.
  const double servers = servers_us() + rounds * machine_.servers.front().write_latency_us;
  const double sent = machine_.network ? 0 : loads_.sent_by_node;
  return std::max({servers, writers_us(), formulas_.link_us(loads_.written_by_node + sent),
                   io_nodes_us(), storage_limit_us(), formulas_.locks_us(loads_.file),
                   formulas_.sharing_us(loads_.file, loads_.writer_bytes)}) +
         rounds * machine_.locks.change_us;
}

/// Time to write after the last file exists: that of a writer with few bytes.
double StepCostModel::last_writer_us() const {
  const double least = std::max(0.0, 2 * loads_.writer_bytes - loads_.writer_bytes_max);
  const double round_us = formulas_.lock_rounds(loads_.file) > 0 ? formulas_.lock_round_us() : 0;
  return formulas_.writer_us(least) + round_us;
}

double StepCostModel::exchange_us() const {
  return std::max(transfer_us(loads_.copied_by_rank, machine_.client.copy_mb_per_s),
                  formulas_.network_us(loads_.sent_by_node));
}

/// The slowest of the stages, or their p-norm (`stage_power` of the machine).
double StepCostModel::written_us(const StepCost& cost) const {
  const double power = machine_.storage.stage_power;
  if (power == 0) {
    return plan_.tuning.exchange == Exchange::kGather ? cost.exchange_us + cost.storage_us
                                                      : std::max(cost.exchange_us, cost.storage_us);
  }
  const FileLoad& file = loads_.file;
  const bool is_file_shared = file.writers > 1;
  const std::array stages{
      cost.metadata_us,
      cost.exchange_us,
      writers_us(),
      formulas_.link_us(loads_.written_by_node),
      io_nodes_us(),
      std::max(servers_us(), storage_limit_us()),
      formulas_.locks_us(file) + formulas_.lock_rounds(file) * formulas_.lock_round_us(),
      is_file_shared ? transfer_us(loads_.writer_bytes, machine_.sharing.writer_mb_per_s) : 0,
      is_file_shared ? transfer_us(file.bytes, machine_.sharing.file_mb_per_s) : 0};
  return overlapped_us(stages, power);
}

/// Concurrent syncs. At each server the first one has a commit, and all others share the next one.
double StepCostModel::syncs_us(double syncs_of_server) const {
  double longest = 0;
  for (const model::ServerGroup& group : machine_.servers)
    longest = std::max(longest, std::min(syncs_of_server, 2.0) * group.sync_us);
  return longest == 0 ? 0 : longest + machine_.client.link_latency_us;
}

/// Writers on other nodes than the owner of the file sync; then its owner writes the index and
/// syncs. Then the directory is synced, and the slot that publishes the step is written and synced.
double StepCostModel::sync_us() const {
  const double of_server = objects_of_server(formulas_.servers_of_file(file_bytes()));
  const double remote = (loads_.file.clients - 1) *
                        std::max(1.0, loads_.file.writers / loads_.file.clients) * of_server;
  const double directory_us = machine_.metadata.sync_us;
  const double index_us = formulas_.request_us(4096);
  return syncs_us(remote) + index_us + syncs_us(of_server) +
         (directory_us == 0 ? 0 : directory_us + machine_.client.link_latency_us) + index_us +
         syncs_us(1);
}

double StepCostModel::perceived_us(const StepCost& cost) const {
  const double bytes = totals_.rank_bytes_max;
  const double copy_us = transfer_us(bytes, machine_.client.copy_mb_per_s);
  const double beyond = std::max(0.0, bytes - static_cast<double>(plan_.memory_bytes));
  return bytes == 0 ? 0 : std::max(copy_us, cost.written_us * beyond / bytes);
}

}  // namespace

StepTotals totals_of(const RankLayout& layout) {
  StepTotals totals;
  std::vector<std::uint32_t> nodes = layout.node_of_compute_rank;
  if (!std::ranges::is_sorted(nodes)) std::ranges::sort(nodes);
  totals.ranks = layout.compute_rank_count();
  totals.nodes = 0;
  for (auto begin = nodes.begin(); begin != nodes.end();) {
    const auto end = std::upper_bound(begin, nodes.end(), *begin);
    totals.ranks_of_node_max = std::max(totals.ranks_of_node_max, double(end - begin));
    totals.nodes += 1;
    begin = end;
  }
  totals.shares_nodes = std::ranges::any_of(layout.node_of_io_rank, [&](std::uint32_t node) {
    return std::ranges::binary_search(nodes, node);
  });
  return totals;
}

StepTotals with_bytes(StepTotals totals, std::span<const std::uint64_t> step_bytes) {
  if (step_bytes.size() <= 1) {
    const std::uint64_t each = step_bytes.empty() ? kAssumedStepBytes : step_bytes.front();
    totals.rank_bytes_max = static_cast<double>(each);
    totals.bytes = totals.rank_bytes_max * totals.ranks;
    return totals;
  }
  for (const std::uint64_t bytes : step_bytes)
    totals.bytes += static_cast<double>(bytes);
  const double mean = totals.bytes / totals.ranks;
  double squares = 0;
  for (const std::uint64_t bytes : step_bytes) {
    const double one = static_cast<double>(bytes);
    totals.rank_bytes_max = std::max(totals.rank_bytes_max, one);
    squares += (one - mean) * (one - mean);
  }
  totals.rank_bytes_deviation = std::sqrt(squares / totals.ranks);
  return totals;
}

StepCost step_cost(const model::Machine& machine, const StepTotals& totals, const WritePlan& plan) {
  FOREBAY_ASSERT(plan.writers >= 1);
  FOREBAY_ASSERT(plan.files >= 1);
  return StepCostModel(machine, totals, plan).cost();
}

double servers_us(const model::Machine& machine,
                  const StepTotals& totals,
                  const WritePlan& plan,
                  double busiest_bytes) {
  return StepCostModel(machine, totals, plan).servers_us(busiest_bytes);
}

}  // namespace forebay::write
