// SPDX-License-Identifier: Apache-2.0
// Assigns ranks to writers and writers to files. partition_begin() splits the ranks of a node and
// the list of writers. merge_nodes() instead assigns whole nodes.
#include "write/aggregation_map.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"

namespace forebay::write {

namespace {

constexpr std::uint32_t kNoWriter = UINT32_MAX;

using RankList = std::vector<RankNumber>;

/// Nodes in the order of their lowest ranks, each with its ranks. `first` is the number of the
/// first rank.
std::vector<RankList> ranks_by_node(std::span<const std::uint32_t> node_of, RankNumber first) {
  std::vector<std::uint32_t> nodes(node_of.begin(), node_of.end());
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  std::vector<std::uint32_t> row_of(nodes.size(), kNoWriter);
  std::vector<RankList> rows;
  for (std::size_t i = 0; i < node_of.size(); ++i) {
    const auto node = std::ranges::lower_bound(nodes, node_of[i]) - nodes.begin();
    std::uint32_t& row = row_of[static_cast<std::size_t>(node)];
    if (row == kNoWriter) {
      row = static_cast<std::uint32_t>(rows.size());
      rows.emplace_back();
    }
    rows[row].push_back(first + static_cast<RankNumber>(i));
  }
  return rows;
}

/// First element of share `index` if `count` elements are split into `share_count` shares: as equal
/// as possible, the first ones larger by one.
std::size_t partition_begin(std::size_t count, std::size_t share_count, std::size_t index) {
  return index * (count / share_count) + std::min(index, count % share_count);
}

void append_partition(const RankList& row,
                      std::size_t share_count,
                      std::vector<RankList>& ranks_of_writers) {
  for (std::size_t i = 0; i < share_count; ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(partition_begin(row.size(), share_count, i));
    const auto end = static_cast<std::ptrdiff_t>(partition_begin(row.size(), share_count, i + 1));
    ranks_of_writers.emplace_back(row.begin() + begin, row.begin() + end);
  }
}

/// Writers of each node, in proportion to its ranks: one on each node, then always one more on the
/// node with the most ranks per writer.
std::vector<std::size_t> writers_by_node(const std::vector<RankList>& nodes, std::size_t writers) {
  std::vector<std::size_t> shares(nodes.size(), 1);
  const auto less_crowded = [&](std::size_t a, std::size_t b) {
    const std::uint64_t load_a = nodes[a].size() * std::uint64_t{shares[b]};
    const std::uint64_t load_b = nodes[b].size() * std::uint64_t{shares[a]};
    return load_a != load_b ? load_a < load_b : a > b;
  };
  std::vector<std::size_t> heap(nodes.size());
  std::iota(heap.begin(), heap.end(), std::size_t{0});
  std::ranges::make_heap(heap, less_crowded);
  for (std::size_t given = nodes.size(); given < writers; ++given) {
    std::ranges::pop_heap(heap, less_crowded);
    ++shares[heap.back()];
    std::ranges::push_heap(heap, less_crowded);
  }
  return shares;
}

/// Contiguous whole nodes for each writer, with about the same number of ranks.
std::vector<RankList> merge_nodes(const std::vector<RankList>& nodes, std::size_t writers) {
  std::vector<RankList> ranks_of_writers(1);
  std::size_t ranks_left = 0;
  for (const RankList& node : nodes)
    ranks_left += node.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    RankList& ranks = ranks_of_writers.back();
    ranks.insert(ranks.end(), nodes[i].begin(), nodes[i].end());
    const std::size_t writers_left = writers - ranks_of_writers.size();
    if (writers_left == 0) continue;
    const std::size_t nodes_left = nodes.size() - i - 1;
    const std::size_t fair = (ranks_left + writers_left) / (writers_left + 1);
    if (ranks.size() < fair && nodes_left > writers_left) continue;
    ranks_left -= ranks.size();
    ranks_of_writers.emplace_back();
  }
  return ranks_of_writers;
}

std::vector<RankList> ranks_of_compute_writers(const RankLayout& rank_layout, std::size_t writers) {
  const std::vector<RankList> nodes = ranks_by_node(rank_layout.node_of_compute_rank, 0);
  if (writers < nodes.size()) return merge_nodes(nodes, writers);
  const std::vector<std::size_t> shares = writers_by_node(nodes, writers);
  std::vector<RankList> ranks_of_writers;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    append_partition(nodes[i], shares[i], ranks_of_writers);
  return ranks_of_writers;
}

/// Chooses `writers` of the I/O ranks, evenly spread in the order of their nodes.
RankList choose_io_ranks(const RankLayout& rank_layout, std::size_t writers) {
  RankList in_order;
  for (const RankList& node :
       ranks_by_node(rank_layout.node_of_io_rank, rank_layout.compute_rank_count()))
    in_order.insert(in_order.end(), node.begin(), node.end());
  RankList chosen;
  for (std::size_t i = 0; i < writers; ++i)
    chosen.push_back(in_order[i * in_order.size() / writers]);
  return chosen;
}

/// Index of the first writer with the fewest ranks.
std::size_t least_loaded(const std::vector<RankList>& ranks_of_writers) {
  const auto found = std::ranges::min_element(ranks_of_writers, {}, &RankList::size);
  return static_cast<std::size_t>(found - ranks_of_writers.begin());
}

std::vector<RankList> ranks_of_io_writers(const RankLayout& rank_layout, const RankList& writers) {
  std::vector<RankList> ranks_of_writers(writers.size());
  std::vector<const RankList*> without;
  const std::vector<RankList> nodes = ranks_by_node(rank_layout.node_of_compute_rank, 0);
  for (const RankList& node : nodes) {
    std::vector<std::size_t> here;
    for (std::size_t i = 0; i < writers.size(); ++i) {
      if (rank_layout.node_of(writers[i]) == rank_layout.node_of(node.front())) here.push_back(i);
    }
    if (here.empty()) without.push_back(&node);
    std::vector<RankList> cut;
    append_partition(node, here.size(), cut);
    for (std::size_t i = 0; i < here.size(); ++i)
      ranks_of_writers[here[i]] = cut[i];
  }
  for (const RankList* node : without) {
    RankList& ranks = ranks_of_writers[least_loaded(ranks_of_writers)];
    ranks.insert(ranks.end(), node->begin(), node->end());
  }
  return ranks_of_writers;
}

}  // namespace

std::uint32_t RankLayout::node_count() const {
  return static_cast<std::uint32_t>(ranks_by_node(node_of_compute_rank, 0).size());
}

AggregationMap::AggregationMap(const RankLayout& rank_layout, const WritePlan& plan)
    : writer_of_(rank_layout.compute_rank_count()),
      writer_index_of_rank_(rank_layout.compute_rank_count() + rank_layout.io_rank_count(),
                            kNoWriter),
      chain_positions_(rank_layout.compute_rank_count()),
      is_chain_(plan.tuning.exchange == Exchange::kBrigade) {
  const bool dedicated = plan.tuning.placement == Placement::kDedicated;
  FOREBAY_ASSERT(rank_layout.compute_rank_count() > 0);
  FOREBAY_ASSERT(plan.writers >= 1);
  FOREBAY_ASSERT(plan.writers <=
                 (dedicated ? rank_layout.io_rank_count() : rank_layout.compute_rank_count()));
  FOREBAY_ASSERT(plan.files >= 1);
  FOREBAY_ASSERT(plan.files <= plan.writers);
  if (dedicated) {
    writers_ = choose_io_ranks(rank_layout, plan.writers);
    ranks_of_writers_ = ranks_of_io_writers(rank_layout, writers_);
  } else {
    ranks_of_writers_ = ranks_of_compute_writers(rank_layout, plan.writers);
    for (const RankList& ranks : ranks_of_writers_)
      writers_.push_back(ranks.front());
  }
  index_ranks();
  assign_files(plan.files);
}

void AggregationMap::index_ranks() {
  for (std::uint32_t number = 0; number < writer_count(); ++number) {
    writer_index_of_rank_[writers_[number]] = number;
    const RankList& ranks = ranks_of_writers_[number];
    for (std::size_t position = 0; position < ranks.size(); ++position) {
      writer_of_[ranks[position]] = writers_[number];
      chain_positions_[ranks[position]] = static_cast<std::uint32_t>(position);
    }
  }
}

void AggregationMap::assign_files(std::uint32_t files) {
  for (std::uint32_t file = 0; file <= files; ++file)
    file_begins_.push_back(
        static_cast<std::uint32_t>(partition_begin(writers_.size(), files, file)));
  for (FileNumber file = 0; file < files; ++file) {
    for (std::uint32_t i = file_begins_[file]; i < file_begins_[file + 1]; ++i)
      file_of_writer_.push_back(file);
  }
}

std::optional<std::uint32_t> AggregationMap::writer_index_of(RankNumber rank) const {
  const std::uint32_t number = writer_index_of_rank_.at(rank);
  if (number == kNoWriter) return std::nullopt;
  return number;
}

std::span<const RankNumber> AggregationMap::ranks_of_writer(RankNumber writer) const {
  const auto number = writer_index_of(writer);
  if (!number) return {};
  return ranks_of_writers_[*number];
}

std::optional<RankNumber> AggregationMap::next_hop(RankNumber rank) const {
  if (is_writer(rank)) return std::nullopt;
  if (rank >= compute_rank_count()) return std::nullopt;
  const RankNumber writer = writer_of_[rank];
  if (!is_chain_ || chain_positions_[rank] == 0) return writer;
  return ranks_of_writer(writer)[chain_positions_[rank] - 1];
}

std::vector<RankNumber> AggregationMap::sources_of(RankNumber rank) const {
  const auto number = writer_index_of(rank);
  if (!is_chain_) {
    if (!number) return {};
    RankList sources = ranks_of_writers_[*number];
    std::erase(sources, rank);
    return sources;
  }
  if (!number && rank >= compute_rank_count()) return {};
  const RankList& ranks = ranks_of_writers_[number ? *number : *writer_index_of(writer_of_[rank])];
  const std::size_t behind = rank < compute_rank_count() ? chain_positions_[rank] + 1 : 0;
  if (behind >= ranks.size()) return {};
  return {ranks[behind]};
}

bool AggregationMap::depends_on(RankNumber rank, RankNumber other) const {
  return other == coordinator() || other == writer_of(rank) || other == owner_of(file_of(rank)) ||
         next_hop(rank) == std::optional(other);
}

FileNumber AggregationMap::file_of(RankNumber rank) const {
  const auto number = writer_index_of(rank);
  return file_of_writer_[number ? *number : *writer_index_of(writer_of_.at(rank))];
}

std::span<const RankNumber> AggregationMap::writers_of(FileNumber file) const {
  const std::uint32_t begin = file_begins_.at(file);
  return std::span(writers_).subspan(begin, file_begins_.at(file + 1) - begin);
}

std::vector<RankNumber> AggregationMap::ranks_of_file(FileNumber file) const {
  RankList ranks;
  for (const RankNumber writer : writers_of(file)) {
    const auto of_writer = ranks_of_writer(writer);
    ranks.insert(ranks.end(), of_writer.begin(), of_writer.end());
  }
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace forebay::write
