// SPDX-License-Identifier: Apache-2.0
// Each resource is asked how long it has to work on the step: metadata servers, data servers,
// links, writers with what they may have under way, locks. The slowest one says how long the step
// takes.
#include "write/cost.hpp"

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/assert.hpp"
#include "model/queueing.hpp"
#include "write/file_places.hpp"

namespace forebay::write {

namespace {

using model::Machine;
using model::RequestKind;

double at_rate_us(double bytes, double mb_per_s) { return mb_per_s == 0 ? 0 : bytes / mb_per_s; }

/// What one server has to do.
struct Share {
  double part_bytes = 0;
  double parts = 0;
  double in_flight = 1;  ///< of them, at a time
};

/// The first ones together, what follows at the rate that these allow.
double busy_us(const model::ServerGroup& server, const Share& share) {
  const double in_flight = std::max(1.0, share.in_flight);
  const model::Load load{
      .kind = RequestKind::kWrite,
      .request_bytes = static_cast<std::uint64_t>(std::max(1.0, share.part_bytes)),
      .in_flight = in_flight};
  const double at_once = std::min({share.parts, in_flight, double(server.concurrency)});
  const double turn_us = at_rate_us(share.part_bytes, server.write_bandwidth_mb_per_s) +
                         (server.latency_overlaps ? 0 : server.write_latency_us);
  const double latency_us = server.latency_overlaps ? server.write_latency_us : 0;
  const double rate = model::rate_mb_per_s(server, load);
  return latency_us + at_once * turn_us +
         (share.parts - at_once) * at_rate_us(share.part_bytes, rate);
}

/// Bytes of a step by who has them, and by who writes them.
struct Loads {
  std::vector<double> of_writer;  ///< by the number of the writer
  std::vector<double> of_file;
  std::vector<double> of_server;
  std::map<std::uint32_t, double> out_of_node;   ///< to storage
  std::map<std::uint32_t, double> sent_by_node;  ///< to other nodes
  std::map<std::uint32_t, double> got_by_node;
  double through_rank_most = 0;  ///< copied by one rank on their way
};

class Costing {
 public:
  Costing(const WriteFacts& facts, const WritePlan& plan)
      : facts_(facts), plan_(plan), machine_(*facts.machine), routes_(facts.crew, plan) {
    for (FileNumber file = 0; file < routes_.file_count(); ++file)
      layouts_.push_back(layout_of_file(machine_, plan_, file));
    find_loads();
    find_ways();
    is_baton_ = plan_.schedule == Schedule::kBaton;
  }

  StepCost cost() const {
    StepCost cost;
    const Names names = names_us();
    cost.names_us = names.last_us;
    const double writing_us = writing_all_us();
    cost.storage_us = std::max(names.first_us + writing_us, names.last_us + shortest_us());
    cost.hand_over_us = hand_over_us();
    cost.at_once = plan_.hand_off != HandOff::kGather;
    // The files, side by side, and the slot that publishes the step: each a request's latency.
    cost.sync_us = 2 * answer_us(0, 4096);
    return cost;
  }

 private:
  struct Names {
    double first_us = 0;
    double last_us = 0;
  };

  double bytes_of(Rank rank) const {
    return static_cast<double>(facts_.step_bytes.empty() ? kAssumedStepBytes
                                                         : facts_.bytes_of(rank));
  }
  void find_loads();
  void find_ways();
  void send(Rank from, Rank to, double bytes);
  Names names_us() const;
  double answer_us(FileNumber file, double bytes) const;
  double alone_us(FileNumber file, double bytes) const;
  double writing_all_us() const;
  double servers_us() const;
  double writers_us() const;
  double links_us() const;
  double locks_us() const;
  double locks_of_file_us(FileNumber file) const;
  double lock_rounds_of(FileNumber file) const;
  std::size_t clients_of(FileNumber file) const;
  double shortest_us() const;
  double hand_over_us() const;

  double part_bytes(FileNumber file) const {
    return static_cast<double>(std::min(
        {plan_.unit_bytes, layouts_[file].stripe_bytes, machine_.client.request_bytes_max}));
  }
  /// Servers of a file that have something of so many requests in a row.
  double servers_in_use(FileNumber file, double requests) const {
    const double stripes =
        static_cast<double>(plan_.unit_bytes) / static_cast<double>(layouts_[file].stripe_bytes);
    const double touched = stripes >= 1 ? requests * stripes : 1 + (requests - 1) * stripes;
    return std::clamp<double>(std::floor(touched), 1, layouts_[file].stripe_count);
  }
  double parts_of_request(FileNumber file) const {
    return static_cast<double>(plan_.unit_bytes) / part_bytes(file);
  }
  const model::ServerGroup& server_of(FileNumber file, std::uint32_t column) const {
    return machine_.server((layouts_[file].first_server + column) % machine_.server_count());
  }

  const WriteFacts& facts_;
  const WritePlan& plan_;
  const Machine& machine_;
  const Routes routes_;
  std::vector<model::Layout> layouts_;
  Loads loads_;
  bool is_baton_ = false;
};

void Costing::find_loads() {
  loads_.of_file.resize(routes_.file_count());
  loads_.of_server.resize(machine_.server_count());
  for (const Rank writer : routes_.writers()) {
    double bytes = 0;
    for (const Rank rank : routes_.group_of(writer))
      bytes += bytes_of(rank);
    loads_.of_writer.push_back(bytes);
    loads_.of_file[routes_.file_of(writer)] += bytes;
    loads_.out_of_node[facts_.crew.node_of(writer)] += bytes;
  }
  for (FileNumber file = 0; file < routes_.file_count(); ++file) {
    const model::Layout& layout = layouts_[file];
    const double stripes =
        std::ceil(loads_.of_file[file] / static_cast<double>(layout.stripe_bytes));
    const double used = std::min<double>(layout.stripe_count, std::max(1.0, stripes));
    for (std::uint32_t column = 0; column < used; ++column) {
      const std::uint32_t server = (layout.first_server + column) % machine_.server_count();
      // Whole stripes: the first servers have one more.
      const double whole = std::ceil((stripes - column) / layout.stripe_count);
      const double bytes = whole * static_cast<double>(layout.stripe_bytes);
      loads_.of_server[server] += std::min(bytes, loads_.of_file[file]);
    }
  }
}

void Costing::send(Rank from, Rank to, double bytes) {
  const std::uint32_t here = facts_.crew.node_of(from);
  const std::uint32_t there = facts_.crew.node_of(to);
  if (here == there) return;
  loads_.sent_by_node[here] += bytes;
  loads_.got_by_node[there] += bytes;
}

void Costing::find_ways() {
  const bool chain = plan_.hand_off == HandOff::kBrigade;
  const bool shared = plan_.hand_off == HandOff::kSharedMemory;
  for (const Rank writer : routes_.writers()) {
    const auto group = routes_.group_of(writer);
    double through = 0;
    for (auto rank = group.rbegin(); rank != group.rend(); ++rank) {
      const auto next = routes_.next_of(*rank);
      if (!next) continue;
      const double own = bytes_of(*rank);
      const bool together = facts_.crew.node_of(*rank) == facts_.crew.node_of(*next);
      if (!(shared && together)) through += own;
      send(*rank, *next, chain ? through : own);
    }
    loads_.through_rank_most = std::max(loads_.through_rank_most, through);
  }
}

/// A file is created by its owner, and then opened by the others.
Costing::Names Costing::names_us() const {
  const model::MetadataServers& servers = machine_.metadata;
  std::vector<std::uint32_t> creates(servers.servers);
  std::vector<std::uint32_t> opens(servers.servers);
  for (FileNumber file = 0; file < routes_.file_count(); ++file) {
    const auto server = model::metadata_server_of(name_hash_of_file(machine_, file), servers);
    ++creates[server];
    opens[server] += static_cast<std::uint32_t>(routes_.writers_of(file).size()) - 1;
  }
  const auto rounds = [&](std::uint32_t count) {
    const std::uint32_t whole = (count + servers.concurrency - 1) / servers.concurrency;
    return static_cast<double>(whole);
  };
  Names names{.first_us = servers.create_us + machine_.client.link_latency_us};
  for (std::uint32_t i = 0; i < servers.servers; ++i) {
    const double links = (opens[i] > 0 ? 2 : 1) * machine_.client.link_latency_us;
    const double all = rounds(creates[i]) * servers.create_us + rounds(opens[i]) * servers.open_us;
    names.last_us = std::max(names.last_us, all + links);
  }
  const double shared_by = plan_.steps_per_group;
  return {names.first_us / shared_by, names.last_us / shared_by};
}

/// One request to an idle storage.
double Costing::answer_us(FileNumber file, double bytes) const {
  const double part = std::min(bytes, part_bytes(file));
  const model::Load load{.kind = RequestKind::kWrite,
                         .request_bytes = static_cast<std::uint64_t>(std::max(1.0, part))};
  return model::answer_time_us(server_of(file, 0), load) + machine_.client.link_latency_us +
         at_rate_us(bytes, machine_.client.link_bandwidth_mb_per_s);
}

/// So many bytes of a file by one writer, nobody else being there.
double Costing::alone_us(FileNumber file, double bytes) const {
  if (bytes == 0) return 0;
  const double part = std::min(part_bytes(file), bytes);
  const double requests = std::min<double>(
      facts_.requests_of_writer, std::ceil(bytes / static_cast<double>(plan_.unit_bytes)));
  const double in_use = servers_in_use(file, std::min(requests, std::ceil(bytes / part)));
  const Share share{.part_bytes = part,
                    .parts = bytes / part / in_use,
                    .in_flight = requests * parts_of_request(file) / in_use};
  const double link = machine_.client.link_bandwidth_mb_per_s;
  const double by_link = server_of(file, 0).write_latency_us + at_rate_us(bytes, link);
  double longest = by_link;
  for (std::uint32_t column = 0; column < static_cast<std::uint32_t>(in_use); ++column)
    longest = std::max(longest, busy_us(server_of(file, column), share));
  return longest + machine_.client.link_latency_us;
}

double Costing::servers_us() const {
  double parts = 0;
  double part_most = 0;
  double in_use = 0;
  for (FileNumber file = 0; file < routes_.file_count(); ++file) {
    const double at_once = is_baton_ ? 1 : static_cast<double>(routes_.writers_of(file).size());
    const double requests = at_once * facts_.requests_of_writer;
    parts += requests * parts_of_request(file);
    part_most = std::max(part_most, part_bytes(file));
    in_use += servers_in_use(file, requests);
  }
  const auto loaded = std::ranges::count_if(loads_.of_server, [](double load) { return load > 0; });
  in_use = std::min<double>(in_use, static_cast<double>(loaded));
  const double idle = static_cast<double>(loaded) / std::max(1.0, in_use);
  double longest = 0;
  for (std::uint32_t i = 0; i < machine_.server_count(); ++i) {
    if (loads_.of_server[i] == 0) continue;
    const Share share{.part_bytes = part_most,
                      .parts = loads_.of_server[i] / part_most * idle,
                      .in_flight = parts / std::max(1.0, in_use)};
    longest = std::max(longest, busy_us(machine_.server(i), share));
  }
  return longest;
}

double Costing::writers_us() const {
  std::vector<double> of_file(routes_.file_count());
  for (std::uint32_t i = 0; i < routes_.writer_count(); ++i) {
    const FileNumber file = routes_.file_of(routes_.writers()[i]);
    const double one = alone_us(file, loads_.of_writer[i]);
    of_file[file] = is_baton_ ? of_file[file] + one : std::max(of_file[file], one);
  }
  return *std::ranges::max_element(of_file);
}

double Costing::links_us() const {
  double longest = 0;
  for (const auto& [node, bytes] : loads_.out_of_node) {
    const auto sent = loads_.sent_by_node.find(node);
    const double all = bytes + (sent == loads_.sent_by_node.end() ? 0 : sent->second);
    longest = std::max(longest, at_rate_us(all, machine_.client.link_bandwidth_mb_per_s));
  }
  return longest;
}

std::size_t Costing::clients_of(FileNumber file) const {
  std::set<std::uint32_t> clients;
  for (const Rank writer : routes_.writers_of(file))
    clients.insert(facts_.crew.node_of(writer));
  return clients.size();
}

double Costing::locks_of_file_us(FileNumber file) const {
  const model::Locks& locks = machine_.locks;
  if (locks.unit == model::LockUnit::kNone) return 0;
  const auto writers = routes_.writers_of(file);
  if (clients_of(file) < 2) return 0;
  if (is_baton_) return static_cast<double>(writers.size() - 1) * locks.change_us;
  const double unit = static_cast<double>(plan_.unit_bytes);
  const double requests = std::ceil(loads_.of_file[file] / unit);
  const double one_us = answer_us(file, unit) + locks.change_us;
  if (locks.unit == model::LockUnit::kFile) return requests * one_us;
  if (locks.unit == model::LockUnit::kObject) return 0;
  const std::uint64_t lock =
      locks.unit == model::LockUnit::kBytes ? locks.unit_bytes : layouts_[file].stripe_bytes;
  if (plan_.alignment_bytes % lock == 0) return 0;
  // Places that lie on one lock follow each other; those on other locks go on beside them. About
  // every second request in a row is another client's.
  const double in_a_row = std::max(2.0, static_cast<double>(lock) / unit);
  const double under_way = static_cast<double>(writers.size()) * facts_.requests_of_writer;
  return requests / 2 * one_us / std::max(1.0, under_way / in_a_row);
}

/// Whoever writes highest of those that wait has all above, and is called back by the next: what is
/// under way to a file takes its locks in rounds, and in each a lock is given up.
double Costing::lock_rounds_of(FileNumber file) const {
  if (machine_.locks.unit != model::LockUnit::kObject || is_baton_) return 0;
  if (clients_of(file) < 2) return 0;
  const double parts = std::ceil(loads_.of_file[file] / part_bytes(file));
  const double writers = static_cast<double>(routes_.writers_of(file).size());
  const double under_way = writers * facts_.requests_of_writer * parts_of_request(file);
  return std::ceil(parts / std::max(1.0, under_way));
}

double Costing::locks_us() const {
  double longest = 0;
  for (FileNumber file = 0; file < routes_.file_count(); ++file)
    longest = std::max(longest, locks_of_file_us(file));
  return longest;
}

double Costing::writing_all_us() const {
  double rounds = 0;
  for (FileNumber file = 0; file < routes_.file_count(); ++file)
    rounds = std::max(rounds, lock_rounds_of(file));
  // In a round servers answer one part alone; that tells where they would be busy otherwise.
  const double servers = servers_us() + rounds * server_of(0, 0).write_latency_us;
  return std::max({servers, writers_us(), links_us(), locks_us()}) +
         rounds * machine_.locks.change_us;
}

/// What has to be written after the last name is there: by the writer with the least of all.
double Costing::shortest_us() const {
  const auto least = std::ranges::min_element(loads_.of_writer);
  const auto number = static_cast<std::size_t>(least - loads_.of_writer.begin());
  const FileNumber file = routes_.file_of(routes_.writers()[number]);
  const double round_us = machine_.locks.change_us + server_of(file, 0).write_latency_us;
  return alone_us(file, *least) + (lock_rounds_of(file) > 0 ? round_us : 0);
}

double Costing::hand_over_us() const {
  double longest = loads_.through_rank_most / kCopyMbPerS;
  const double link = machine_.client.link_bandwidth_mb_per_s;
  for (const auto& [node, bytes] : loads_.sent_by_node)
    longest = std::max(longest, at_rate_us(bytes, link) + machine_.client.link_latency_us);
  for (const auto& [node, bytes] : loads_.got_by_node)
    longest = std::max(longest, at_rate_us(bytes, link) + machine_.client.link_latency_us);
  return longest;
}

}  // namespace

StepCost step_cost(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return Costing(facts, plan).cost();
}

}  // namespace forebay::write
