// SPDX-License-Identifier: Apache-2.0
// Agents of several nodes, each a thread, over loopback: all are connected with all, and all detect
// the end of one.
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

std::vector<PolledLink> polled_links(const Links& links, LinkHandler& owner) {
  std::vector<PolledLink> all;
  for (const auto& link : links)
    all.push_back({link.get(), &owner});
  return all;
}

/// Each agent sends known bytes to each other one, several times, and checks what it receives.
void exchange_all(const Links& links, Rank me, std::size_t payload_bytes) {
  constexpr std::uint64_t kRounds = 5;
  const Bytes payload = pattern(me.number, payload_bytes);
  for (const auto& link : links) {
    for (std::uint64_t round = 0; round < kRounds; ++round)
      ASSERT_TRUE(link->send({.kind = me.number, .words = {round}}, payload));
  }
  RecordingLinkHandler handler;
  ASSERT_TRUE(run_until(polled_links(links, handler), [&] {
    const auto is_empty = [](const auto& link) { return link->queued_bytes() == 0; };
    return handler.messages.size() == kRounds * links.size() &&
           std::ranges::all_of(links, is_empty);
  }));
  for (const RecordingLinkHandler::Message& message : handler.messages) {
    EXPECT_EQ(message.header.kind, message.from.number);
    EXPECT_EQ(message.payload, pattern(message.from.number, payload_bytes));
  }
}

struct RankCounts {
  std::uint32_t ranks;
  std::uint32_t per_node;
};

class LinksTest : public testing::TestWithParam<RankCounts> {};

TEST_P(LinksTest, agents_of_all_nodes_exchange_messages) {
  const Status ran =
      run_ranks({GetParam().ranks, GetParam().per_node}, [](const CommunicatorPtr& ranks) {
        const std::vector<Rank> agents = leaders_of(*ranks);
        LinkOptions options;
        options.socket.buffer_bytes = 4096;  // so that messages are sent in several pieces
        const Links links = value_or_throw(connect_agents(*ranks, agents, options), "connect");
        const bool is_agent = std::ranges::find(agents, ranks->rank()) != agents.end();
        EXPECT_EQ(links.size(), is_agent ? agents.size() - 1 : 0);
        if (is_agent) exchange_all(links, ranks->rank(), 100'000);
        return ranks->barrier();
      });
  EXPECT_TRUE(ran) << ran.error().message();
}

INSTANTIATE_TEST_SUITE_P(Sizes,
                         LinksTest,
                         testing::Values(RankCounts{1, 1},
                                         RankCounts{2, 1},
                                         RankCounts{3, 1},
                                         RankCounts{7, 1},
                                         RankCounts{5, 2},
                                         RankCounts{4, 4}),
                         [](const auto& size) {
                           return std::to_string(size.param.ranks) + "_ranks_" +
                                  std::to_string(size.param.per_node) + "_per_node";
                         });

TEST(Links, missing_network_on_one_host_fails_on_all_ranks) {
  const Status ran = run_ranks({.count = 3, .per_node = 1}, [](const CommunicatorPtr& ranks) {
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

TEST(Links, unreachable_agent_fails_on_all_ranks) {
  const Status ran = run_ranks({.count = 3, .per_node = 1}, [](const CommunicatorPtr& ranks) {
    // Agent 2 gives up before any other can have connected.
    const auto timeout = std::chrono::milliseconds(ranks->rank() == Rank{2} ? 0 : 2000);
    const auto links = connect_agents(*ranks, leaders_of(*ranks), {.connect_timeout_ms = timeout});
    EXPECT_EQ(error_class(links), ErrorClass::kIo);
    if (!links) {
      EXPECT_EQ(links.error().rank(), 0U);
      EXPECT_NE(links.error().message().find("rank 2"), std::string::npos);
    }
    return Status();
  });
  EXPECT_TRUE(ran);
}

TEST(Links, agent_death_is_reported_to_all_others_with_its_rank) {
  const Status ran = run_ranks({.count = 3, .per_node = 1}, [](const CommunicatorPtr& ranks) {
    const Links links = value_or_throw(connect_agents(*ranks, leaders_of(*ranks), {}), "connect");
    if (ranks->rank() == Rank{1}) return Status();
    RecordingLinkHandler handler;
    const auto has_ended = [](const auto& link) { return link->close_reason().has_value(); };
    EXPECT_TRUE(run_until(polled_links(links, handler),
                          [&] { return std::ranges::any_of(links, has_ended); }));
    const auto ended = std::ranges::find_if(links, has_ended);
    EXPECT_EQ((*ended)->peer(), Rank{1});
    EXPECT_EQ((*ended)->close_reason()->kind(), ErrorClass::kClosed);
    EXPECT_EQ((*ended)->close_reason()->rank(), 1U);
    EXPECT_EQ(std::ranges::count_if(links, has_ended), 1);
    // The other two continue, and neither leaves before the other is done.
    Link& other = **std::ranges::find_if_not(links, has_ended);
    const Bytes payload = pattern(0, 1000);
    EXPECT_TRUE(other.send({}, payload));
    EXPECT_TRUE(run_until({{&other, &handler}}, [&] { return !handler.messages.empty(); }));
    return Status();
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

/// Simulates a host that is switched off, or whose agent hangs.
TEST(Links, peer_that_does_not_read_times_out) {
  const Status ran = run_ranks({.count = 2, .per_node = 1}, [](const CommunicatorPtr& ranks) {
    LinkOptions options;
    options.socket.peer_timeout_ms = std::chrono::milliseconds(300);
    options.socket.buffer_bytes = 4096;
    const Links links =
        value_or_throw(connect_agents(*ranks, leaders_of(*ranks), options), "connect");
    if (ranks->rank() == Rank{1}) return ranks->barrier();  // and reads nothing
    const Bytes payload(1'000'000);
    Status send_status;
    EXPECT_TRUE(links[0]->send({}, payload, [&](const Status& outcome) { send_status = outcome; }));
    RecordingLinkHandler handler;
    EXPECT_TRUE(run_until(polled_links(links, handler),
                          [&] { return links[0]->close_reason().has_value(); }));
    EXPECT_EQ(links[0]->close_reason()->error_number(), ETIMEDOUT);
    EXPECT_EQ(error_class(send_status), ErrorClass::kClosed);
    return ranks->barrier();
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

TEST(Links, single_agent_has_no_links) {
  const std::vector<Rank> agents{Rank{0}};
  EXPECT_TRUE(value_or_throw(connect_agents(*self_communicator(), agents, {}), "connect").empty());
}

}  // namespace
}  // namespace forebay::comm
