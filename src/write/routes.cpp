// SPDX-License-Identifier: Apache-2.0
// Cuts ranks into groups and writers into files. All cutting is by one rule: rows, as equal as can
// be, the first ones one longer.
#include "write/routes.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"

namespace forebay::write {

namespace {

constexpr std::uint32_t kNoWriter = UINT32_MAX;

using Row = std::vector<Rank>;

/// Nodes in the order of their lowest ranks, each with its ranks; `first` is the number of the
/// first of them.
std::vector<Row> by_node(std::span<const std::uint32_t> node_of, Rank first) {
  std::vector<std::uint32_t> nodes(node_of.begin(), node_of.end());
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  std::vector<std::uint32_t> row_of(nodes.size(), kNoWriter);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < node_of.size(); ++i) {
    const auto node = std::ranges::lower_bound(nodes, node_of[i]) - nodes.begin();
    std::uint32_t& row = row_of[static_cast<std::size_t>(node)];
    if (row == kNoWriter) {
      row = static_cast<std::uint32_t>(rows.size());
      rows.emplace_back();
    }
    rows[row].push_back(first + static_cast<Rank>(i));
  }
  return rows;
}

/// Where piece `index` of `pieces` begins, if `count` are cut.
std::size_t cut_at(std::size_t count, std::size_t pieces, std::size_t index) {
  return index * (count / pieces) + std::min(index, count % pieces);
}

void append_cut(const Row& row, std::size_t pieces, std::vector<Row>& groups) {
  for (std::size_t i = 0; i < pieces; ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(cut_at(row.size(), pieces, i));
    const auto end = static_cast<std::ptrdiff_t>(cut_at(row.size(), pieces, i + 1));
    groups.emplace_back(row.begin() + begin, row.begin() + end);
  }
}

/// How many of `writers` each node has, in proportion to its ranks: always to the node with the
/// most ranks for each writer it has, from one on each.
std::vector<std::size_t> writers_by_node(const std::vector<Row>& nodes, std::size_t writers) {
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

/// Whole nodes in a row for each writer.
std::vector<Row> join_nodes(const std::vector<Row>& nodes, std::size_t writers) {
  std::vector<Row> groups(1);
  std::size_t ranks_left = 0;
  for (const Row& node : nodes)
    ranks_left += node.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Row& group = groups.back();
    group.insert(group.end(), nodes[i].begin(), nodes[i].end());
    const std::size_t groups_left = writers - groups.size();
    if (groups_left == 0) continue;
    const std::size_t nodes_left = nodes.size() - i - 1;
    const std::size_t fair = (ranks_left + groups_left) / (groups_left + 1);
    if (group.size() < fair && nodes_left > groups_left) continue;
    ranks_left -= group.size();
    groups.emplace_back();
  }
  return groups;
}

std::vector<Row> groups_in_rank(const Crew& crew, std::size_t writers) {
  const std::vector<Row> nodes = by_node(crew.node_of_computing, 0);
  if (writers < nodes.size()) return join_nodes(nodes, writers);
  const std::vector<std::size_t> shares = writers_by_node(nodes, writers);
  std::vector<Row> groups;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    append_cut(nodes[i], shares[i], groups);
  return groups;
}

/// So many of the dedicated ranks, spread evenly over them in the order of their nodes.
Row choose_dedicated(const Crew& crew, std::size_t writers) {
  Row in_order;
  for (const Row& node : by_node(crew.node_of_dedicated, crew.computing()))
    in_order.insert(in_order.end(), node.begin(), node.end());
  Row chosen;
  for (std::size_t i = 0; i < writers; ++i)
    chosen.push_back(in_order[i * in_order.size() / writers]);
  return chosen;
}

/// The number of the writer with the fewest ranks, the first of several.
std::size_t least_loaded(const std::vector<Row>& groups) {
  const auto found = std::ranges::min_element(groups, {}, &Row::size);
  return static_cast<std::size_t>(found - groups.begin());
}

std::vector<Row> groups_of_dedicated(const Crew& crew, const Row& writers) {
  std::vector<Row> groups(writers.size());
  std::vector<const Row*> without;
  const std::vector<Row> nodes = by_node(crew.node_of_computing, 0);
  for (const Row& node : nodes) {
    std::vector<std::size_t> here;
    for (std::size_t i = 0; i < writers.size(); ++i) {
      if (crew.node_of(writers[i]) == crew.node_of(node.front())) here.push_back(i);
    }
    if (here.empty()) without.push_back(&node);
    std::vector<Row> cut;
    append_cut(node, here.size(), cut);
    for (std::size_t i = 0; i < here.size(); ++i)
      groups[here[i]] = cut[i];
  }
  for (const Row* node : without) {
    Row& group = groups[least_loaded(groups)];
    group.insert(group.end(), node->begin(), node->end());
  }
  return groups;
}

}  // namespace

std::uint32_t Crew::node_count() const {
  return static_cast<std::uint32_t>(by_node(node_of_computing, 0).size());
}

Routes::Routes(const Crew& crew, const WritePlan& plan)
    : writer_of_(crew.computing()),
      writer_numbers_(crew.computing() + crew.dedicated(), kNoWriter),
      places_(crew.computing()),
      is_chain_(plan.hand_off == HandOff::kBrigade) {
  const bool dedicated = plan.placement == Placement::kDedicated;
  FOREBAY_ASSERT(crew.computing() > 0);
  FOREBAY_ASSERT(plan.writers >= 1);
  FOREBAY_ASSERT(plan.writers <= (dedicated ? crew.dedicated() : crew.computing()));
  FOREBAY_ASSERT(plan.files >= 1);
  FOREBAY_ASSERT(plan.files <= plan.writers);
  if (dedicated) {
    writers_ = choose_dedicated(crew, plan.writers);
    groups_ = groups_of_dedicated(crew, writers_);
  } else {
    groups_ = groups_in_rank(crew, plan.writers);
    for (const Row& group : groups_)
      writers_.push_back(group.front());
  }
  note_groups();
  cut_files(plan.files);
}

void Routes::note_groups() {
  for (std::uint32_t number = 0; number < writer_count(); ++number) {
    writer_numbers_[writers_[number]] = number;
    const Row& group = groups_[number];
    for (std::size_t place = 0; place < group.size(); ++place) {
      writer_of_[group[place]] = writers_[number];
      places_[group[place]] = static_cast<std::uint32_t>(place);
    }
  }
}

void Routes::cut_files(std::uint32_t files) {
  for (std::uint32_t file = 0; file <= files; ++file)
    file_begins_.push_back(static_cast<std::uint32_t>(cut_at(writers_.size(), files, file)));
  for (FileNumber file = 0; file < files; ++file) {
    for (std::uint32_t i = file_begins_[file]; i < file_begins_[file + 1]; ++i)
      file_of_writer_.push_back(file);
  }
}

std::optional<std::uint32_t> Routes::writer_number_of(Rank rank) const {
  const std::uint32_t number = writer_numbers_.at(rank);
  if (number == kNoWriter) return std::nullopt;
  return number;
}

std::span<const Rank> Routes::group_of(Rank writer) const {
  const auto number = writer_number_of(writer);
  if (!number) return {};
  return groups_[*number];
}

std::optional<Rank> Routes::next_of(Rank rank) const {
  if (is_writer(rank)) return std::nullopt;
  if (rank >= computing()) return std::nullopt;
  const Rank writer = writer_of_[rank];
  if (!is_chain_ || places_[rank] == 0) return writer;
  return group_of(writer)[places_[rank] - 1];
}

std::vector<Rank> Routes::sources_of(Rank rank) const {
  const auto number = writer_number_of(rank);
  if (!is_chain_) {
    if (!number) return {};
    Row sources = groups_[*number];
    std::erase(sources, rank);
    return sources;
  }
  if (!number && rank >= computing()) return {};
  const Row& group = groups_[number ? *number : *writer_number_of(writer_of_[rank])];
  const std::size_t behind = rank < computing() ? places_[rank] + 1 : 0;
  if (behind >= group.size()) return {};
  return {group[behind]};
}

bool Routes::depends_on(Rank rank, Rank other) const {
  return other == coordinator() || other == writer_of(rank) || other == owner_of(file_of(rank)) ||
         next_of(rank) == std::optional(other);
}

FileNumber Routes::file_of(Rank rank) const {
  const auto number = writer_number_of(rank);
  return file_of_writer_[number ? *number : *writer_number_of(writer_of_.at(rank))];
}

std::span<const Rank> Routes::writers_of(FileNumber file) const {
  const std::uint32_t begin = file_begins_.at(file);
  return std::span(writers_).subspan(begin, file_begins_.at(file + 1) - begin);
}

std::optional<Rank> Routes::baton_after(Rank writer) const {
  const auto number = writer_number_of(writer);
  FOREBAY_ASSERT(number.has_value());
  const std::uint32_t after = *number + 1;
  if (after == file_begins_[file_of_writer_[*number] + 1]) return std::nullopt;
  return writers_[after];
}

}  // namespace forebay::write
