// SPDX-License-Identifier: Apache-2.0
// Agents of several nodes, each played by a thread, over loopback: all are connected with all, and
// whatever happens to one is known to the others.
#include "comm/links.hpp"

#include <algorithm>
#include <cerrno>

#include "comm/in_process.hpp"
#include "comm/link_testing.hpp"

namespace forebay::comm {
namespace {

std::vector<Rank> leaders_of(const Communicator& ranks) {
  std::vector<Rank> leaders;
  for (std::uint32_t node = 0; node < ranks.nodes().count(); ++node)
    leaders.push_back(ranks.nodes().leader_of(Node{node}));
  return leaders;
}

std::vector<Driven> driven(const Links& links, LinkReceiver& owner) {
  std::vector<Driven> all;
  for (const auto& link : links)
    all.push_back({link.get(), &owner});
  return all;
}

/// Each agent sends to each other what both know, several times, and checks what it gets.
void exchange_all(const Links& links, Rank me, std::size_t payload_bytes) {
  constexpr std::uint64_t kRounds = 5;
  const Bytes payload = pattern(me.number, payload_bytes);
  for (const auto& link : links) {
    for (std::uint64_t round = 0; round < kRounds; ++round)
      ASSERT_TRUE(link->send({.kind = me.number, .words = {round}}, payload));
  }
  Inbox inbox;
  ASSERT_TRUE(drive(driven(links, inbox), [&] {
    const auto is_empty = [](const auto& link) { return link->queued_bytes() == 0; };
    return inbox.messages.size() == kRounds * links.size() && std::ranges::all_of(links, is_empty);
  }));
  for (const Inbox::Message& message : inbox.messages) {
    EXPECT_EQ(message.header.kind, message.from.number);
    EXPECT_EQ(message.payload, pattern(message.from.number, payload_bytes));
  }
}

struct Size {
  std::uint32_t ranks;
  std::uint32_t per_node;
};

class LinksOf : public testing::TestWithParam<Size> {};

TEST_P(LinksOf, all_nodes_carry_all_to_all) {
  const Status ran = run_ranks({GetParam().ranks, GetParam().per_node}, [](const Ranks& ranks) {
    const std::vector<Rank> agents = leaders_of(*ranks);
    LinkOptions options;
    options.socket.buffer_bytes = 4096;  // so that nothing goes in one piece
    const Links links = must(connect_agents(*ranks, agents, options), "connect");
    const bool is_agent = std::ranges::find(agents, ranks->rank()) != agents.end();
    EXPECT_EQ(links.size(), is_agent ? agents.size() - 1 : 0);
    if (is_agent) exchange_all(links, ranks->rank(), 100'000);
    return ranks->barrier();
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    Sizes,
    LinksOf,
    testing::Values(Size{1, 1}, Size{2, 1}, Size{3, 1}, Size{7, 1}, Size{5, 2}, Size{4, 4}),
    [](const auto& size) {
      return std::to_string(size.param.ranks) + "_ranks_" + std::to_string(size.param.per_node) +
             "_per_node";
    });

TEST(Links, network_that_one_host_lacks_is_one_error_on_all_ranks) {
  const Status ran = run_ranks({.count = 3, .per_node = 1}, [](const Ranks& ranks) {
    const std::string network = ranks->rank() == Rank{1} ? "ib7" : "";
    const auto links = connect_agents(*ranks, leaders_of(*ranks), {.network = network});
    EXPECT_EQ(error_class(links), ErrorClass::kNotFound);
    if (!links) {
      EXPECT_EQ(links.error().rank(), 1U);
    }
    return Status();
  });
  EXPECT_TRUE(ran);
}

TEST(Links, agent_that_cannot_be_reached_is_one_error_on_all_ranks) {
  const Status ran = run_ranks({.count = 3, .per_node = 1}, [](const Ranks& ranks) {
    // Agent 2 gives up before anybody can have reached it.
    const auto patience = std::chrono::milliseconds(ranks->rank() == Rank{2} ? 0 : 2000);
    const auto links = connect_agents(*ranks, leaders_of(*ranks), {.connect_ms_max = patience});
    EXPECT_EQ(error_class(links), ErrorClass::kIo);
    if (!links) {
      EXPECT_EQ(links.error().rank(), 0U);
      EXPECT_NE(links.error().message().find("rank 2"), std::string::npos);
    }
    return Status();
  });
  EXPECT_TRUE(ran);
}

TEST(Links, death_of_an_agent_is_told_to_all_others_with_its_rank) {
  const Status ran = run_ranks({.count = 3, .per_node = 1}, [](const Ranks& ranks) {
    const Links links = must(connect_agents(*ranks, leaders_of(*ranks), {}), "connect");
    if (ranks->rank() == Rank{1}) return Status();
    Inbox inbox;
    const auto has_ended = [](const auto& link) { return link->end().has_value(); };
    EXPECT_TRUE(drive(driven(links, inbox), [&] { return std::ranges::any_of(links, has_ended); }));
    const auto ended = std::ranges::find_if(links, has_ended);
    EXPECT_EQ((*ended)->peer(), Rank{1});
    EXPECT_EQ((*ended)->end()->kind(), ErrorClass::kClosed);
    EXPECT_EQ((*ended)->end()->rank(), 1U);
    EXPECT_EQ(std::ranges::count_if(links, has_ended), 1);
    // The other two go on, and none of them leaves before the other is done.
    Link& other = **std::ranges::find_if_not(links, has_ended);
    const Bytes payload = pattern(0, 1000);
    EXPECT_TRUE(other.send({}, payload));
    EXPECT_TRUE(drive({{&other, &inbox}}, [&] { return !inbox.messages.empty(); }));
    return Status();
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

/// What a host that is switched off looks like from here, or one whose agent hangs.
TEST(Links, peer_that_takes_nothing_for_too_long_has_ended) {
  const Status ran = run_ranks({.count = 2, .per_node = 1}, [](const Ranks& ranks) {
    LinkOptions options;
    options.socket.silence_ms_max = std::chrono::milliseconds(300);
    options.socket.buffer_bytes = 4096;
    const Links links = must(connect_agents(*ranks, leaders_of(*ranks), options), "connect");
    if (ranks->rank() == Rank{1}) return ranks->barrier();  // and reads nothing
    const Bytes payload(1'000'000);
    Status told;
    EXPECT_TRUE(links[0]->send({}, payload, [&](const Status& outcome) { told = outcome; }));
    Inbox inbox;
    EXPECT_TRUE(drive(driven(links, inbox), [&] { return links[0]->end().has_value(); }));
    EXPECT_EQ(links[0]->end()->error_number(), ETIMEDOUT);
    EXPECT_EQ(error_class(told), ErrorClass::kClosed);
    return ranks->barrier();
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

TEST(Links, of_one_agent_are_none) {
  const std::vector<Rank> agents{Rank{0}};
  EXPECT_TRUE(must(connect_agents(*solo(), agents, {}), "connect").empty());
}

}  // namespace
}  // namespace forebay::comm
