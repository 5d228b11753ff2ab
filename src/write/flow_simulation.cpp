// SPDX-License-Identifier: Apache-2.0
#include "write/flow_simulation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/assert.hpp"
#include "write/file_layout.hpp"
#include "write/step_formulas.hpp"

namespace forebay::write {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Ends of flows that are handled together are this share of the active flows.
constexpr double kTogether = 1.0 / 32;
/// Flows that begin one after the other are handled in at most this many groups.
constexpr std::size_t kBeginnings = 64;

/// Bytes of one writer, or of one file whose writers take turns.
struct Flow {
  std::uint32_t file = 0;
  std::uint32_t node = 0;
  std::uint32_t io_node = 0;
  double bytes = 0;     ///< left
  double start_us = 0;  ///< its file is open, and with kGather its bytes have arrived
  double rate_max = kInfinite;
  double rate = 0;
};

/// A kind of resources of which each flow uses one, for example links.
struct Resources {
  std::uint32_t Flow::* index;
  double rate = kInfinite;           ///< of each one; MB/s are bytes per microsecond
  std::vector<double> rates = {};    ///< if they differ
  std::vector<std::uint32_t> users;  ///< active flows

  double share_of(const Flow& flow) const {
    const std::uint32_t number = flow.*index;
    const double whole = rates.empty() ? rate : rates[number];
    return whole / std::max(1U, users[number]);
  }
};

double unlimited_if_zero(double mb_per_s) { return mb_per_s == 0 ? kInfinite : mb_per_s; }

/// Limits the rates to the level at which their sum is `server_rate`. Flows that cannot use their
/// share leave it to the others.
void limit_rates(std::span<Flow*> active, double server_rate) {
  double level = 0;
  double left = server_rate;
  double waiting = static_cast<double>(active.size());
  // Each round serves the flows below the level in full, so the level rises to its limit.
  for (double before = -1; level > before && waiting > 0;) {
    before = level;
    level = left / waiting;
    left = server_rate;
    waiting = 0;
    for (const Flow* flow : active) {
      if (flow->rate <= level)
        left -= flow->rate;
      else
        ++waiting;
    }
  }
  for (Flow* flow : active)
    flow->rate = std::min(flow->rate, level);
}

}  // namespace

class FlowSimulator::Job {
 public:
  Job(const WriteFacts& facts, const WritePlan& plan)
      : facts_(facts),
        plan_(plan),
        machine_(*facts.machine),
        layout_totals_(totals_of(facts.rank_layout)),
        io_nodes_(machine_.io_nodes_of(static_cast<std::uint64_t>(layout_totals_.nodes))),
        aggregation_(facts.rank_layout, plan),
        formulas_(machine_, plan) {
    for (const RankNumber writer : aggregation_.writers())
      nodes_.try_emplace(facts.rank_layout.node_of(writer), nodes_.size());
    is_collective_ = plan.tuning.transfer_mode == TransferMode::kCollective;
    create_files();
  }

  StepCost run(std::span<const std::uint64_t> bytes_of_rank) {
    FOREBAY_ASSERT(bytes_of_rank.size() == aggregation_.compute_rank_count());
    const StepTotals totals = with_bytes(layout_totals_, bytes_of_rank);
    StepCost cost = step_cost(machine_, totals, plan_);
    sum_bytes(bytes_of_rank);
    make_flows(cost);
    cost.storage_us = advance_flows(server_rate(totals));
    const double power = machine_.storage.stage_power;
    // Without a power, the beginnings of flows contain the other stages.
    cost.written_us =
        power == 0
            ? std::max(cost.storage_us, cost.exchange_us)
            : overlapped_us(std::array{cost.metadata_us, cost.exchange_us, cost.storage_us}, power);
    return cost;
  }

 private:
  void create_files();
  void sum_bytes(std::span<const std::uint64_t> bytes_of_rank);
  void make_flows(const StepCost& cost);
  /// Bytes of a writer; with a baton, of its file.
  struct FlowSource {
    FileNumber file = 0;
    std::uint32_t writer = 0;
    double bytes = 0;
  };
  void add_flow(const FlowSource& source, double start_us, double rate_max);
  /// `most`: bytes of the writer of the file with the most.
  double rate_of_writer(double bytes, const FileLoad& file, double most) const;
  double rate_of_baton(const FileLoad& file) const;
  double busiest_server_bytes() const;
  double server_rate(const StepTotals& totals) const;
  std::vector<Resources> make_resources() const;
  double advance_flows(double server_rate);
  void set_rates(std::span<Flow*> active, std::vector<Resources>& resources, double server_rate);
  FileLoad load_of(FileNumber file) const;

  const WriteFacts& facts_;
  const WritePlan& plan_;
  const model::Machine& machine_;
  const StepTotals layout_totals_;  ///< without bytes
  const std::uint64_t io_nodes_;    ///< that the job reaches
  const AggregationMap aggregation_;
  const StepFormulas formulas_;
  std::unordered_map<std::uint32_t, std::uint32_t> nodes_;  ///< numbered
  bool is_collective_ = false;
  std::vector<double> created_us_;  ///< by file
  std::vector<double> opened_us_;   ///< by writer
  std::vector<double> writer_bytes_;
  std::vector<double> file_bytes_;
  std::vector<std::uint32_t> clients_of_file_;
  std::vector<Flow> flows_;
};

/// Each metadata server creates its files one after the other, and then opens them for the other
/// writers.
void FlowSimulator::Job::create_files() {
  const model::MetadataServers& servers = machine_.metadata;
  std::vector<double> creates(servers.servers);
  std::vector<double> opens(servers.servers);
  std::vector<std::uint32_t> server_of(aggregation_.file_count());
  for (FileNumber file = 0; file < aggregation_.file_count(); ++file) {
    server_of[file] = model::metadata_server_of(name_hash_of_file(machine_, file), servers);
    created_us_.push_back(formulas_.metadata_us(++creates[server_of[file]], 0));
  }
  for (FileNumber file = 0; file < aggregation_.file_count(); ++file) {
    const auto writers = aggregation_.writers_of(file);
    std::uint32_t last_node = facts_.rank_layout.node_of(writers.front());
    std::uint32_t clients = 1;
    for (std::size_t i = 0; i < writers.size(); ++i) {
      const std::uint32_t server = server_of[file];
      const std::uint32_t node = facts_.rank_layout.node_of(writers[i]);
      clients += node == last_node ? 0 : 1;
      last_node = node;
      opened_us_.push_back(i == 0 ? created_us_[file]
                                  : formulas_.metadata_us(creates[server], ++opens[server]));
    }
    clients_of_file_.push_back(clients);
  }
}

void FlowSimulator::Job::sum_bytes(std::span<const std::uint64_t> bytes_of_rank) {
  writer_bytes_.clear();
  file_bytes_.assign(aggregation_.file_count(), 0);
  for (const RankNumber writer : aggregation_.writers()) {
    double bytes = 0;
    for (const RankNumber rank : aggregation_.ranks_of_writer(writer))
      bytes += static_cast<double>(bytes_of_rank[rank]);
    writer_bytes_.push_back(bytes);
    file_bytes_[aggregation_.file_of(writer)] += bytes;
  }
}

FileLoad FlowSimulator::Job::load_of(FileNumber file) const {
  return {.bytes = file_bytes_[file],
          .writers = static_cast<double>(aggregation_.writers_of(file).size()),
          .clients = static_cast<double>(clients_of_file_[file])};
}

/// Writers of a collective wait for each other after each unit.
double FlowSimulator::Job::rate_of_writer(double bytes, const FileLoad& file, double most) const {
  const double unit = static_cast<double>(segment_bytes_of(plan_));
  const double rounds_us = std::ceil(most / unit) * formulas_.request_us(std::min(unit, most));
  const double own = bytes / (is_collective_ ? rounds_us : formulas_.writer_us(bytes));
  const double shared =
      file.writers > 1 ? unlimited_if_zero(machine_.sharing.writer_mb_per_s) : kInfinite;
  return std::min(own, shared);
}

/// Writers of a baton write one after the other.
double FlowSimulator::Job::rate_of_baton(const FileLoad& file) const {
  return file.bytes / (file.writers * formulas_.writer_us(file.bytes / file.writers));
}

void FlowSimulator::Job::add_flow(const FlowSource& source, double start_us, double rate_max) {
  if (source.bytes == 0) return;
  const std::uint32_t node =
      nodes_.at(facts_.rank_layout.node_of(aggregation_.writers()[source.writer]));
  flows_.push_back({.file = source.file,
                    .node = node,
                    .io_node = static_cast<std::uint32_t>(node * io_nodes_ / nodes_.size()),
                    .bytes = source.bytes,
                    .start_us = start_us,
                    .rate_max = rate_max});
}

void FlowSimulator::Job::make_flows(const StepCost& cost) {
  flows_.clear();
  const bool is_staggered = machine_.storage.stage_power == 0;
  const bool holds_back = is_staggered && plan_.tuning.exchange == Exchange::kGather;
  const double arrival_us = holds_back ? cost.exchange_us : 0;
  std::uint32_t writer = 0;
  for (FileNumber file = 0; file < aggregation_.file_count(); ++file) {
    const FileLoad load = load_of(file);
    const std::uint32_t end = writer + static_cast<std::uint32_t>(load.writers);
    const auto begin_us = [&](std::uint32_t opener) {
      return is_staggered ? std::max(arrival_us, opened_us_[opener]) : 0;
    };
    if (formulas_.is_baton()) {
      add_flow({file, writer, load.bytes}, begin_us(end - 1), rate_of_baton(load));
    } else {
      const double most =
          *std::max_element(writer_bytes_.begin() + writer, writer_bytes_.begin() + end);
      for (std::uint32_t i = writer; i < end; ++i)
        add_flow({file, i, writer_bytes_[i]}, begin_us(is_collective_ ? end - 1 : i),
                 rate_of_writer(writer_bytes_[i], load, most));
    }
    writer = end;
  }
}

/// Stripes of a file are on consecutive servers. Bytes between the end of a writer's bytes and the
/// next multiple of the alignment are not written.
double FlowSimulator::Job::busiest_server_bytes() const {
  const std::uint32_t servers = machine_.server_count();
  const double alignment = static_cast<double>(plan_.tuning.alignment_bytes);
  std::vector<double> server_bytes(servers);
  std::uint32_t writer = 0;
  for (FileNumber file = 0; file < aggregation_.file_count(); ++file) {
    double end = 0;
    for (std::size_t left = aggregation_.writers_of(file).size(); left > 0; --left)
      end += std::ceil(writer_bytes_[writer++] / alignment) * alignment;
    const model::Layout layout = layout_of_file(machine_, plan_, file);
    const double stripes = std::ceil(end / static_cast<double>(layout.stripe_bytes));
    const double used = std::min<double>(layout.stripe_count, stripes);
    for (std::uint32_t column = 0; column < used; ++column) {
      const double here = std::ceil((stripes - column) / layout.stripe_count);
      server_bytes[(layout.first_server + column) % servers] += file_bytes_[file] * here / stripes;
    }
  }
  return *std::ranges::max_element(server_bytes);
}

/// All servers together: what they have to write over the time that the busiest one needs.
double FlowSimulator::Job::server_rate(const StepTotals& totals) const {
  const double limit = unlimited_if_zero(machine_.storage.write_mb_per_s);
  const double busiest_us = servers_us(machine_, totals, plan_, busiest_server_bytes());
  return std::min(limit, busiest_us == 0 ? kInfinite : totals.bytes / busiest_us);
}

std::vector<Resources> FlowSimulator::Job::make_resources() const {
  std::vector<Resources> resources;
  const auto add = [&](std::uint32_t Flow::* index, double mb_per_s, std::size_t count) {
    if (mb_per_s > 0)
      resources.push_back(
          {.index = index, .rate = mb_per_s, .users = std::vector<std::uint32_t>(count)});
  };
  // The writers of a baton use one link after the other: writer_us() contains it.
  if (!formulas_.is_baton())
    add(&Flow::node, machine_.client.link_bandwidth_mb_per_s, nodes_.size());
  if (io_nodes_ > 0) add(&Flow::io_node, machine_.io_nodes.bandwidth_mb_per_s, io_nodes_);
  Resources files{.index = &Flow::file, .users = std::vector<std::uint32_t>(file_bytes_.size())};
  for (FileNumber file = 0; file < file_bytes_.size(); ++file) {
    const FileLoad load = load_of(file);
    const double locks_us =
        formulas_.locks_us(load) + formulas_.lock_rounds(load) * formulas_.lock_round_us();
    const double by_locks = locks_us == 0 ? kInfinite : load.bytes / locks_us;
    const double by_sharing =
        load.writers > 1 ? unlimited_if_zero(machine_.sharing.file_mb_per_s) : kInfinite;
    files.rates.push_back(std::min(by_locks, by_sharing));
  }
  resources.push_back(std::move(files));
  return resources;
}

/// Gives each active flow its share of all resources.
void FlowSimulator::Job::set_rates(std::span<Flow*> active,
                                   std::vector<Resources>& resources,
                                   double server_rate) {
  for (Resources& one : resources) {
    std::ranges::fill(one.users, 0);
    for (const Flow* flow : active)
      ++one.users[flow->*one.index];
  }
  const double power = machine_.storage.stage_power;
  const double fair = server_rate / static_cast<double>(active.size());
  double used = 0;
  std::vector<double> stages_us;  // of a byte
  for (Flow* flow : active) {
    stages_us.assign({1 / flow->rate_max, power > 0 ? 1 / fair : 0});
    for (const Resources& one : resources)
      stages_us.push_back(1 / one.share_of(*flow));
    flow->rate = 1 / overlapped_us(stages_us, power);
    used += flow->rate;
  }
  if (power > 0 || std::isinf(server_rate) || used <= server_rate) return;
  limit_rates(active, server_rate);
}

/// The time at which the last flow ends.
double FlowSimulator::Job::advance_flows(double server_rate) {
  std::vector<Resources> resources = make_resources();
  std::ranges::sort(flows_, {}, &Flow::start_us);
  std::vector<Flow*> active;
  std::vector<double> ends;
  double now_us = flows_.empty() ? 0 : flows_.front().start_us;
  double last_us = 0;
  for (std::size_t next = 0; next < flows_.size() || !active.empty();) {
    if (active.empty()) now_us = std::max(now_us, flows_[next].start_us);
    for (; next < flows_.size() && flows_[next].start_us <= now_us; ++next)
      active.push_back(&flows_[next]);
    set_rates(active, resources, server_rate);
    const auto together =
        static_cast<std::size_t>(std::ceil(kTogether * static_cast<double>(active.size())));
    ends.clear();
    for (const Flow* flow : active)
      ends.push_back(now_us + flow->bytes / flow->rate);
    const auto place =
        ends.begin() + static_cast<std::ptrdiff_t>(std::min(together, ends.size()) - 1);
    std::ranges::nth_element(ends, place);
    double until_us = *place;
    if (next < flows_.size()) {
      const std::size_t last = next + std::max(together, flows_.size() / kBeginnings);
      until_us = std::min(until_us, flows_[std::min(last, flows_.size()) - 1].start_us);
    }
    for (Flow* flow : active) {
      const double end_us = now_us + flow->bytes / flow->rate;
      flow->bytes = end_us <= until_us ? 0 : flow->bytes - flow->rate * (until_us - now_us);
      if (end_us <= until_us) last_us = std::max(last_us, end_us);
    }
    std::erase_if(active, [](const Flow* flow) { return flow->bytes <= 0; });
    now_us = until_us;
  }
  return last_us;
}

FlowSimulator::FlowSimulator(const WriteFacts& facts, const WritePlan& plan)
    : job_(std::make_unique<Job>(facts, plan)) {}

FlowSimulator::~FlowSimulator() = default;

StepCost FlowSimulator::run(std::span<const std::uint64_t> bytes_of_rank) {
  return job_->run(bytes_of_rank);
}

}  // namespace forebay::write
