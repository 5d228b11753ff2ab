// SPDX-License-Identifier: Apache-2.0
// Who hands what to whom: small jobs worked out by hand, and thousands of random ones, of which all
// that Routes promises is asked.
#include "write/routes.hpp"

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

constexpr std::uint64_t kRoutesSeed = 20'261'123;

/// So many ranks on each node.
Crew crew_on_nodes(const std::vector<std::uint32_t>& ranks_on) {
  Crew crew;
  for (std::uint32_t node = 0; node < ranks_on.size(); ++node)
    crew.node_of_computing.insert(crew.node_of_computing.end(), ranks_on[node], node);
  return crew;
}

std::vector<Rank> writers_of_all(const Crew& crew, const Routes& routes) {
  std::vector<Rank> writers;
  for (Rank rank = 0; rank < crew.computing(); ++rank)
    writers.push_back(routes.writer_of(rank));
  return writers;
}

TEST(Routes, of_one_rank_lead_to_itself) {
  const Routes routes(crew_on_nodes({1}), {.writers = 1, .files = 1, .hand_off = HandOff::kNone});
  EXPECT_EQ(routes.writer_of(0), 0U);
  EXPECT_EQ(routes.next_of(0), std::nullopt);
  EXPECT_EQ(routes.owner_of(0), 0U);
  EXPECT_EQ(routes.baton_after(0), std::nullopt);
  EXPECT_THAT(routes.sources_of(0), IsEmpty());
}

TEST(Routes, give_the_first_groups_one_rank_more) {
  const Crew crew = crew_on_nodes({8});
  const Routes routes(crew, {.writers = 3, .files = 2, .hand_off = HandOff::kSharedMemory});
  EXPECT_THAT(writers_of_all(crew, routes), ElementsAre(0, 0, 0, 3, 3, 3, 6, 6));
  EXPECT_THAT(routes.writers(), ElementsAre(0, 3, 6));
  EXPECT_THAT(routes.writers_of(0), ElementsAre(0, 3));
  EXPECT_THAT(routes.writers_of(1), ElementsAre(6));
  EXPECT_THAT(routes.group_of(3), ElementsAre(3, 4, 5));
  EXPECT_THAT(routes.sources_of(3), ElementsAre(4, 5));
  EXPECT_EQ(routes.next_of(5), 3U);
  EXPECT_EQ(routes.file_of(5), 0U);
  EXPECT_EQ(routes.file_of(7), 1U);
  EXPECT_EQ(routes.baton_after(0), 3U);
  EXPECT_EQ(routes.baton_after(3), std::nullopt);
}

TEST(Routes, of_a_brigade_go_from_neighbour_to_neighbour) {
  const Routes routes(crew_on_nodes({4}),
                      {.writers = 1, .files = 1, .hand_off = HandOff::kBrigade});
  EXPECT_EQ(routes.next_of(3), 2U);
  EXPECT_EQ(routes.next_of(1), 0U);
  EXPECT_EQ(routes.next_of(0), std::nullopt);
  EXPECT_THAT(routes.sources_of(0), ElementsAre(1));
  EXPECT_THAT(routes.sources_of(2), ElementsAre(3));
  EXPECT_THAT(routes.sources_of(3), IsEmpty());
}

TEST(Routes, say_without_whom_a_rank_cannot_go_on) {
  const auto needs = [](const Routes& routes, Rank rank) {
    std::vector<Rank> others;
    for (Rank other = 0; other < routes.computing(); ++other)
      if (other != rank && routes.depends_on(rank, other)) others.push_back(other);
    return others;
  };
  const Routes messages(crew_on_nodes({3, 3}), {.writers = 2, .files = 1});
  EXPECT_THAT(needs(messages, 5), ElementsAre(0, 3));
  EXPECT_THAT(needs(messages, 0), IsEmpty());
  const Routes chain(crew_on_nodes({3, 3}),
                     {.writers = 2, .files = 2, .hand_off = HandOff::kBrigade});
  EXPECT_THAT(needs(chain, 5), ElementsAre(0, 3, 4));
}

TEST(Routes, stay_on_the_node_also_where_ranks_go_round_the_nodes) {
  const Crew crew{.node_of_computing = {7, 3, 7, 3, 7, 3}};
  const Routes routes(crew, {.writers = 2, .files = 2, .hand_off = HandOff::kSharedMemory});
  EXPECT_THAT(writers_of_all(crew, routes), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(routes.group_of(1), ElementsAre(1, 3, 5));
}

TEST(Routes, give_crowded_nodes_more_writers) {
  const Crew crew = crew_on_nodes({6, 2});
  const Routes routes(crew, {.writers = 4, .files = 4, .hand_off = HandOff::kSharedMemory});
  EXPECT_THAT(routes.writers(), ElementsAre(0, 2, 4, 6));
}

TEST(Routes, join_whole_nodes_where_writers_are_few) {
  const Crew crew = crew_on_nodes({1, 3, 2, 2});
  const Routes routes(crew, {.writers = 2, .files = 1, .hand_off = HandOff::kMessage});
  EXPECT_THAT(writers_of_all(crew, routes), ElementsAre(0, 0, 0, 0, 4, 4, 4, 4));
}

TEST(Routes, lead_to_the_dedicated_rank_of_the_node) {
  Crew crew = crew_on_nodes({3, 3, 1});
  crew.node_of_dedicated = {0, 1};
  const WritePlan plan{
      .writers = 2, .files = 1, .hand_off = HandOff::kBrigade, .placement = Placement::kDedicated};
  const Routes routes(crew, plan);
  EXPECT_THAT(routes.writers(), ElementsAre(7, 8));
  EXPECT_THAT(writers_of_all(crew, routes), ElementsAre(7, 7, 7, 8, 8, 8, 7))
      << "the node without one goes to the first of those with the fewest ranks";
  EXPECT_EQ(routes.next_of(0), 7U);
  EXPECT_EQ(routes.next_of(2), 1U);
  EXPECT_THAT(routes.sources_of(7), ElementsAre(0));
  EXPECT_EQ(routes.owner_of(0), 7U);
  EXPECT_EQ(routes.file_of(4), 0U);
}

TEST(Routes, leave_dedicated_ranks_that_are_too_many_without_any) {
  Crew crew = crew_on_nodes({1});
  crew.node_of_dedicated = {0, 0};
  const WritePlan plan{.writers = 2,
                       .files = 2,
                       .hand_off = HandOff::kSharedMemory,
                       .placement = Placement::kDedicated};
  const Routes routes(crew, plan);
  EXPECT_THAT(routes.group_of(1), ElementsAre(0));
  EXPECT_THAT(routes.group_of(2), IsEmpty());
  EXPECT_THAT(routes.sources_of(2), IsEmpty());
}

struct Case {
  Crew crew;
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
  for (Rank rank = 0; rank < ranks; ++rank)
    one.crew.node_of_computing.push_back(in_turn ? rank % nodes : below(nodes));
  if (below(3) == 0) {
    for (std::uint32_t i = 0; i <= below(nodes); ++i)
      one.crew.node_of_dedicated.push_back(below(nodes));
    one.plan.placement = Placement::kDedicated;
  }
  const bool dedicated = one.plan.placement == Placement::kDedicated;
  one.plan.writers = 1 + below(dedicated ? one.crew.dedicated() : ranks);
  one.plan.files = 1 + below(one.plan.writers);
  one.plan.hand_off = static_cast<HandOff>(1 + below(4));
  return one;
}

void check_groups(const Case& one, const Routes& routes) {
  std::multiset<Rank> stored;
  std::size_t smallest = SIZE_MAX;
  std::size_t largest = 0;
  for (const Rank writer : routes.writers()) {
    const auto group = routes.group_of(writer);
    stored.insert(group.begin(), group.end());
    smallest = std::min(smallest, group.size());
    largest = std::max(largest, group.size());
    for (const Rank rank : group)
      EXPECT_EQ(routes.writer_of(rank), writer);
    if (one.plan.placement == Placement::kDedicated) continue;
    ASSERT_FALSE(group.empty());
    EXPECT_EQ(group.front(), writer);
    if (one.plan.writers < one.crew.node_count()) continue;
    for (const Rank rank : group)
      EXPECT_EQ(one.crew.node_of(rank), one.crew.node_of(writer));
  }
  EXPECT_EQ(stored.size(), one.crew.computing());
  EXPECT_EQ(std::set<Rank>(stored.begin(), stored.end()).size(), stored.size());
  if (one.crew.node_count() == 1 && one.plan.placement != Placement::kDedicated) {
    EXPECT_LE(largest - smallest, 1U);
  }
}

void check_whole_nodes(const Case& one, const Routes& routes) {
  if (one.plan.placement == Placement::kDedicated) return;
  if (one.plan.writers >= one.crew.node_count()) return;
  std::map<std::uint32_t, Rank> writer_of_node;
  for (Rank rank = 0; rank < one.crew.computing(); ++rank) {
    const auto [place, is_new] =
        writer_of_node.try_emplace(one.crew.node_of(rank), routes.writer_of(rank));
    EXPECT_EQ(place->second, routes.writer_of(rank)) << "a node's ranks have one writer";
  }
}

void check_files(const Case& one, const Routes& routes) {
  std::vector<Rank> all;
  for (FileNumber file = 0; file < routes.file_count(); ++file) {
    const auto writers = routes.writers_of(file);
    ASSERT_FALSE(writers.empty());
    EXPECT_EQ(routes.owner_of(file), writers.front());
    EXPECT_LE(writers.size(), (one.plan.writers + one.plan.files - 1) / one.plan.files);
    std::vector<Rank> by_baton{writers.front()};
    while (const auto after = routes.baton_after(by_baton.back()))
      by_baton.push_back(*after);
    EXPECT_TRUE(std::ranges::equal(by_baton, writers)) << "the baton visits all, each once";
    for (const Rank writer : writers)
      EXPECT_EQ(routes.file_of(writer), file);
    all.insert(all.end(), by_baton.begin(), by_baton.end());
  }
  EXPECT_TRUE(std::ranges::equal(all, routes.writers()));
  for (Rank rank = 0; rank < one.crew.computing(); ++rank)
    EXPECT_EQ(routes.file_of(rank), routes.file_of(routes.writer_of(rank)));
}

void check_ways(const Case& one, const Routes& routes) {
  const Rank ranks = one.crew.computing() + one.crew.dedicated();
  for (Rank rank = 0; rank < ranks; ++rank) {
    for (const Rank source : routes.sources_of(rank))
      EXPECT_EQ(routes.next_of(source), rank);
    const bool in_chain = one.plan.hand_off == HandOff::kBrigade;
    EXPECT_TRUE(!in_chain || routes.sources_of(rank).size() <= 1);
    const auto next = routes.next_of(rank);
    if (next) {
      EXPECT_THAT(routes.sources_of(*next), ::testing::Contains(rank));
    }
  }
  for (Rank rank = 0; rank < one.crew.computing(); ++rank) {
    Rank at = rank;
    for (Rank steps = 0; const auto next = routes.next_of(at); ++steps) {
      ASSERT_LE(steps, one.crew.computing()) << "a way without an end";
      at = *next;
    }
    EXPECT_EQ(at, routes.writer_of(rank));
  }
}

TEST(Routes, hold_together_whatever_the_job) {
  for (std::uint64_t round = 0; round < 6'000; ++round) {
    const Case one = random_case(kRoutesSeed + round);
    SCOPED_TRACE("seed " + std::to_string(kRoutesSeed + round));
    const Routes routes(one.crew, one.plan);
    ASSERT_EQ(routes.writer_count(), one.plan.writers);
    ASSERT_EQ(routes.file_count(), one.plan.files);
    EXPECT_TRUE(one.plan.placement == Placement::kDedicated ||
                routes.writer_of(Routes::coordinator()) == Routes::coordinator());
    check_groups(one, routes);
    check_whole_nodes(one, routes);
    check_files(one, routes);
    check_ways(one, routes);
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace forebay::write
