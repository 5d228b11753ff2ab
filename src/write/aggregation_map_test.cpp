// SPDX-License-Identifier: Apache-2.0
// Paths of bytes: small jobs computed by hand, and thousands of random jobs, for which every
// guarantee of AggregationMap is checked.
#include "write/aggregation_map.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::write {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kMapSeed = 20'261'123;

/// `ranks_on[i]` ranks on node i.
RankLayout layout_on_nodes(const std::vector<std::uint32_t>& ranks_on) {
  RankLayout rank_layout;
  for (std::uint32_t node = 0; node < ranks_on.size(); ++node)
    rank_layout.node_of_compute_rank.insert(rank_layout.node_of_compute_rank.end(), ranks_on[node],
                                            node);
  return rank_layout;
}

std::vector<RankNumber> writers_of_all(const RankLayout& rank_layout,
                                       const AggregationMap& aggregation) {
  std::vector<RankNumber> writers;
  for (RankNumber rank = 0; rank < rank_layout.compute_rank_count(); ++rank)
    writers.push_back(aggregation.writer_of(rank));
  return writers;
}

TEST(AggregationMap, single_rank_writes_for_itself) {
  const AggregationMap aggregation(
      layout_on_nodes({1}), {.writers = 1, .files = 1, .tuning = {.exchange = Exchange::kNone}});
  EXPECT_EQ(aggregation.writer_of(0), 0U);
  EXPECT_EQ(aggregation.next_hop(0), std::nullopt);
  EXPECT_EQ(aggregation.owner_of(0), 0U);
  EXPECT_THAT(aggregation.sources_of(0), IsEmpty());
}

TEST(AggregationMap, first_groups_are_one_rank_larger) {
  const RankLayout rank_layout = layout_on_nodes({8});
  const AggregationMap aggregation(
      rank_layout, {.writers = 3, .files = 2, .tuning = {.exchange = Exchange::kSharedMemory}});
  EXPECT_THAT(writers_of_all(rank_layout, aggregation), ElementsAre(0, 0, 0, 3, 3, 3, 6, 6));
  EXPECT_THAT(aggregation.writers(), ElementsAre(0, 3, 6));
  EXPECT_THAT(aggregation.writers_of(0), ElementsAre(0, 3));
  EXPECT_THAT(aggregation.writers_of(1), ElementsAre(6));
  EXPECT_THAT(aggregation.ranks_of_writer(3), ElementsAre(3, 4, 5));
  EXPECT_THAT(aggregation.sources_of(3), ElementsAre(4, 5));
  EXPECT_EQ(aggregation.next_hop(5), 3U);
  EXPECT_EQ(aggregation.file_of(5), 0U);
  EXPECT_EQ(aggregation.file_of(7), 1U);
}

TEST(AggregationMap, brigade_forwards_to_adjacent_rank) {
  const AggregationMap aggregation(
      layout_on_nodes({4}), {.writers = 1, .files = 1, .tuning = {.exchange = Exchange::kBrigade}});
  EXPECT_EQ(aggregation.next_hop(3), 2U);
  EXPECT_EQ(aggregation.next_hop(1), 0U);
  EXPECT_EQ(aggregation.next_hop(0), std::nullopt);
  EXPECT_THAT(aggregation.sources_of(0), ElementsAre(1));
  EXPECT_THAT(aggregation.sources_of(2), ElementsAre(3));
  EXPECT_THAT(aggregation.sources_of(3), IsEmpty());
}

TEST(AggregationMap, depends_on_returns_required_ranks) {
  const auto needs = [](const AggregationMap& aggregation, RankNumber rank) {
    std::vector<RankNumber> others;
    for (RankNumber other = 0; other < aggregation.compute_rank_count(); ++other)
      if (other != rank && aggregation.depends_on(rank, other)) others.push_back(other);
    return others;
  };
  const AggregationMap messages(layout_on_nodes({3, 3}), {.writers = 2, .files = 1});
  EXPECT_THAT(needs(messages, 5), ElementsAre(0, 3));
  EXPECT_THAT(needs(messages, 0), IsEmpty());
  const AggregationMap chain(
      layout_on_nodes({3, 3}),
      {.writers = 2, .files = 2, .tuning = {.exchange = Exchange::kBrigade}});
  EXPECT_THAT(needs(chain, 5), ElementsAre(0, 3, 4));
}

TEST(AggregationMap, round_robin_ranks_are_grouped_within_nodes) {
  const RankLayout rank_layout{.node_of_compute_rank = {7, 3, 7, 3, 7, 3}};
  const AggregationMap aggregation(
      rank_layout, {.writers = 2, .files = 2, .tuning = {.exchange = Exchange::kSharedMemory}});
  EXPECT_THAT(writers_of_all(rank_layout, aggregation), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(aggregation.ranks_of_writer(1), ElementsAre(1, 3, 5));
}

TEST(AggregationMap, nodes_with_more_ranks_get_more_writers) {
  const RankLayout rank_layout = layout_on_nodes({6, 2});
  const AggregationMap aggregation(
      rank_layout, {.writers = 4, .files = 4, .tuning = {.exchange = Exchange::kSharedMemory}});
  EXPECT_THAT(aggregation.writers(), ElementsAre(0, 2, 4, 6));
}

TEST(AggregationMap, fewer_writers_than_nodes_join_whole_nodes) {
  const RankLayout rank_layout = layout_on_nodes({1, 3, 2, 2});
  const AggregationMap aggregation(
      rank_layout, {.writers = 2, .files = 1, .tuning = {.exchange = Exchange::kMessage}});
  EXPECT_THAT(writers_of_all(rank_layout, aggregation), ElementsAre(0, 0, 0, 0, 4, 4, 4, 4));
}

TEST(AggregationMap, io_rank_writes_for_its_node) {
  RankLayout rank_layout = layout_on_nodes({3, 3, 1});
  rank_layout.node_of_io_rank = {0, 1};
  const WritePlan plan{
      .writers = 2,
      .files = 1,
      .tuning = {.exchange = Exchange::kBrigade, .placement = Placement::kDedicated}};
  const AggregationMap aggregation(rank_layout, plan);
  EXPECT_THAT(aggregation.writers(), ElementsAre(7, 8));
  EXPECT_THAT(writers_of_all(rank_layout, aggregation), ElementsAre(7, 7, 7, 8, 8, 8, 7))
      << "a node without an I/O rank goes to the first of the smallest groups";
  EXPECT_EQ(aggregation.next_hop(0), 7U);
  EXPECT_EQ(aggregation.next_hop(2), 1U);
  EXPECT_THAT(aggregation.sources_of(7), ElementsAre(0));
  EXPECT_EQ(aggregation.owner_of(0), 7U);
  EXPECT_EQ(aggregation.file_of(4), 0U);
}

TEST(AggregationMap, surplus_io_ranks_get_no_ranks) {
  RankLayout rank_layout = layout_on_nodes({1});
  rank_layout.node_of_io_rank = {0, 0};
  const WritePlan plan{
      .writers = 2,
      .files = 2,
      .tuning = {.exchange = Exchange::kSharedMemory, .placement = Placement::kDedicated}};
  const AggregationMap aggregation(rank_layout, plan);
  EXPECT_THAT(aggregation.ranks_of_writer(1), ElementsAre(0));
  EXPECT_THAT(aggregation.ranks_of_writer(2), IsEmpty());
  EXPECT_THAT(aggregation.sources_of(2), IsEmpty());
}

struct Case {
  RankLayout rank_layout;
  WritePlan plan;
};

Case random_case(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t end) {
    return static_cast<std::uint32_t>(random() % end);
  };
  Case one;
  const std::uint32_t nodes = 1 + below(9);
  const std::uint32_t ranks = 1 + below(40);
  const bool in_turn = below(2) == 0;
  for (RankNumber rank = 0; rank < ranks; ++rank)
    one.rank_layout.node_of_compute_rank.push_back(in_turn ? rank % nodes : below(nodes));
  if (below(3) == 0) {
    for (std::uint32_t i = 0; i <= below(nodes); ++i)
      one.rank_layout.node_of_io_rank.push_back(below(nodes));
    one.plan.tuning.placement = Placement::kDedicated;
  }
  const bool dedicated = one.plan.tuning.placement == Placement::kDedicated;
  one.plan.writers = 1 + below(dedicated ? one.rank_layout.io_rank_count() : ranks);
  one.plan.files = 1 + below(one.plan.writers);
  one.plan.tuning.exchange = static_cast<Exchange>(1 + below(4));
  return one;
}

void check_groups(const Case& one, const AggregationMap& aggregation) {
  std::multiset<RankNumber> stored;
  std::size_t smallest = SIZE_MAX;
  std::size_t largest = 0;
  for (const RankNumber writer : aggregation.writers()) {
    const auto ranks = aggregation.ranks_of_writer(writer);
    stored.insert(ranks.begin(), ranks.end());
    smallest = std::min(smallest, ranks.size());
    largest = std::max(largest, ranks.size());
    for (const RankNumber rank : ranks)
      EXPECT_EQ(aggregation.writer_of(rank), writer);
    if (one.plan.tuning.placement == Placement::kDedicated) continue;
    ASSERT_FALSE(ranks.empty());
    EXPECT_EQ(ranks.front(), writer);
    if (one.plan.writers < one.rank_layout.node_count()) continue;
    for (const RankNumber rank : ranks)
      EXPECT_EQ(one.rank_layout.node_of(rank), one.rank_layout.node_of(writer));
  }
  EXPECT_EQ(stored.size(), one.rank_layout.compute_rank_count());
  EXPECT_EQ(std::set<RankNumber>(stored.begin(), stored.end()).size(), stored.size());
  if (one.rank_layout.node_count() == 1 && one.plan.tuning.placement != Placement::kDedicated) {
    EXPECT_LE(largest - smallest, 1U);
  }
}

void check_whole_nodes(const Case& one, const AggregationMap& aggregation) {
  if (one.plan.tuning.placement == Placement::kDedicated) return;
  if (one.plan.writers >= one.rank_layout.node_count()) return;
  std::map<std::uint32_t, RankNumber> writer_of_node;
  for (RankNumber rank = 0; rank < one.rank_layout.compute_rank_count(); ++rank) {
    const auto [entry, is_new] =
        writer_of_node.try_emplace(one.rank_layout.node_of(rank), aggregation.writer_of(rank));
    EXPECT_EQ(entry->second, aggregation.writer_of(rank)) << "a node's ranks have one writer";
  }
}

void check_files(const Case& one, const AggregationMap& aggregation) {
  std::vector<RankNumber> all;
  for (FileNumber file = 0; file < aggregation.file_count(); ++file) {
    const auto writers = aggregation.writers_of(file);
    ASSERT_FALSE(writers.empty());
    EXPECT_EQ(aggregation.owner_of(file), writers.front());
    EXPECT_LE(writers.size(), (one.plan.writers + one.plan.files - 1) / one.plan.files);
    for (const RankNumber writer : writers)
      EXPECT_EQ(aggregation.file_of(writer), file);
    all.insert(all.end(), writers.begin(), writers.end());
  }
  EXPECT_TRUE(std::ranges::equal(all, aggregation.writers()));
  for (RankNumber rank = 0; rank < one.rank_layout.compute_rank_count(); ++rank)
    EXPECT_EQ(aggregation.file_of(rank), aggregation.file_of(aggregation.writer_of(rank)));
}

void check_paths(const Case& one, const AggregationMap& aggregation) {
  const RankNumber ranks = one.rank_layout.compute_rank_count() + one.rank_layout.io_rank_count();
  for (RankNumber rank = 0; rank < ranks; ++rank) {
    for (const RankNumber source : aggregation.sources_of(rank))
      EXPECT_EQ(aggregation.next_hop(source), rank);
    const bool in_chain = one.plan.tuning.exchange == Exchange::kBrigade;
    EXPECT_TRUE(!in_chain || aggregation.sources_of(rank).size() <= 1);
    const auto next = aggregation.next_hop(rank);
    if (next) {
      EXPECT_THAT(aggregation.sources_of(*next), ::testing::Contains(rank));
    }
  }
  for (RankNumber rank = 0; rank < one.rank_layout.compute_rank_count(); ++rank) {
    RankNumber at = rank;
    for (RankNumber steps = 0; const auto next = aggregation.next_hop(at); ++steps) {
      ASSERT_LE(steps, one.rank_layout.compute_rank_count()) << "a path without an end";
      at = *next;
    }
    EXPECT_EQ(at, aggregation.writer_of(rank));
  }
}

TEST(AggregationMap, random_jobs_satisfy_all_guarantees) {
  for (std::uint64_t round = 0; round < 6'000; ++round) {
    const Case one = random_case(kMapSeed + round);
    SCOPED_TRACE("seed " + std::to_string(kMapSeed + round));
    const AggregationMap aggregation(one.rank_layout, one.plan);
    ASSERT_EQ(aggregation.writer_count(), one.plan.writers);
    ASSERT_EQ(aggregation.file_count(), one.plan.files);
    EXPECT_TRUE(one.plan.tuning.placement == Placement::kDedicated ||
                aggregation.writer_of(AggregationMap::coordinator()) ==
                    AggregationMap::coordinator());
    check_groups(one, aggregation);
    check_whole_nodes(one, aggregation);
    check_files(one, aggregation);
    check_paths(one, aggregation);
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace forebay::write
