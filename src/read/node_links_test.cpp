// SPDX-License-Identifier: Apache-2.0
// Agents of two nodes, each played by a thread: what becomes of a view that one of them waits for
// on behalf of the other when they end, in whatever order.
#include "read/node_links.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

#include "comm/in_process.hpp"
#include "comm/message_testing.hpp"
#include "read/testing.hpp"

namespace forebay::read {
namespace {

using Ranks = std::shared_ptr<comm::Communicator>;

/// Knows what it has to do, and leaves that to the test.
class IdleAgent final : public Agent {
 public:
  void serve(const std::shared_ptr<TransferSource>& source) override { latest = source; }
  void stop() override {}

  std::weak_ptr<TransferSource> latest;
};

constexpr ByteRange kExtent{0, 8 * kUnit};
const SessionHandle kSession{.runtime = 1, .number = 7};

OpenRequest request() {
  const auto plan = plan_read({.extent = kExtent,
                               .access = Access::kDirect,
                               .access_reason = {},
                               .alignment_bytes = 1,
                               .available_bytes = 1_MiB},
                              SmallPlan{});
  return {.handle = kSession,
          .extent = kExtent,
          .plan = *plan,
          .path = "words",
          .access = Access::kDirect,
          .access_reason = {}};
}

/// A session of which nothing arrives, unless somebody else is asked for it.
std::shared_ptr<SessionHost> host(Executor& loop,
                                  std::shared_ptr<Agent> agent,
                                  std::shared_ptr<RemoteReader> remote = nullptr) {
  return SessionHost::open({.file = word_file(kExtent.size),
                            .extent = kExtent,
                            .plan = request().plan,
                            .windows = std::make_shared<WindowPool>(1_MiB),
                            .agent = std::move(agent),
                            .executor = &loop,
                            .handle = kSession,
                            .remote = std::move(remote)})
      .value();
}

std::shared_ptr<NodeLinks> links_of(const Ranks& ranks) {
  const std::vector<comm::Rank> agents{{0}, {1}};
  auto links = comm::connect_agents(*ranks, agents, {}).value();
  const std::uint32_t other = links.front()->peer().number;
  return NodeLinks::start({.links = std::move(links), .nodes = {other}}).value();
}

bool attend_until(NodeLinks& links, const std::function<bool()>& condition) {
  return eventually([&] {
    links.attend();
    return condition();
  });
}

/// Asks the other node for the first splinter, and ends without waiting for it.
Status ask_and_end(const Ranks& ranks) {
  EventLoop loop;
  const auto links = links_of(ranks);
  const auto agent = std::make_shared<IdleAgent>();
  const auto remote = links->reader(request(), {{0}, kUnit}, agent);
  const auto session = host(loop, agent, remote);
  session->hint({.splinter = 0, .part = {0, kUnit}}, Urgency::kAsked);
  TransferSource::Transfer transfer;
  EXPECT_TRUE(session->next_transfer(transfer));
  EXPECT_TRUE(remote->take(session, transfer));
  links->attend();
  links->end();
  return {};
}

/// Two nodes, of which one asks the other for something and is gone.
void serve_one_that_leaves(const std::function<void(const Ranks&)>& serve) {
  const auto ran = comm::run_ranks({.count = 2, .per_node = 1}, [&](const Ranks& ranks) -> Status {
    if (ranks->rank().number == 1) return ask_and_end(ranks);
    serve(ranks);
    return {};
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

// The other one left, and the session was forgotten, but not the view: it was signalled when the
// session ended, on a loop that was gone.
TEST(NodeLinks, views_that_nobody_asks_for_any_more_end_with_the_links) {
  serve_one_that_leaves([](const Ranks& ranks) {
    EventLoop loop;
    // A rank of this node has it open all the time.
    const auto own = host(loop, std::make_shared<IdleAgent>());
    auto links = links_of(ranks);
    bool left = false;
    links->set_sessions({.open = [&](const OpenRequest&) { return own; },
                         .leave = [&](const SessionHandle&) { left = true; }});
    const long before = own.use_count();
    EXPECT_TRUE(attend_until(*links, [&] { return left; }));
    EXPECT_GT(own.use_count(), before);  // the view is under way
    links->end();
    EXPECT_EQ(own.use_count(), before);
    links.reset();
    own->close();
  });
}

/// From now on each request of the first splinter reads for itself.
void fail_first_splinter(SessionHost& session) {
  session.hint({.splinter = 0, .part = {0, kUnit}}, Urgency::kAsked);
  TransferSource::Transfer load;
  ASSERT_TRUE(session.next_transfer(load));
  session.finish(load, failure({.kind = ErrorClass::kIo, .operation = "read"}));
}

// A copy that a thread of another agent is reading cannot be told that its session has ended.
TEST(NodeLinks, end_after_the_copies_that_others_read_for_their_views) {
  serve_one_that_leaves([](const Ranks& ranks) {
    EventLoop loop;
    const auto agent = std::make_shared<IdleAgent>();
    const auto own = host(loop, agent);
    fail_first_splinter(*own);
    auto links = links_of(ranks);
    links->set_sessions(
        {.open = [&](const OpenRequest&) { return own; }, .leave = [](const SessionHandle&) {}});
    std::shared_ptr<TransferSource> copies;
    TransferSource::Transfer copy;
    EXPECT_TRUE(attend_until(*links, [&] {
      copies = agent->latest.lock();
      return copies && copies->next_transfer(copy) && copy.copy;
    }));
    const std::jthread thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      copies->copy(copy);
    });
    links->end();
    links.reset();
    EXPECT_TRUE(copy.copy->finished());
  });
}

/// A link that sends what no agent sends, to one that has asked for a splinter.
class Silent final : public comm::LinkReceiver {
 public:
  Result<std::span<std::byte>> place(comm::Link& /*link*/,
                                     const comm::LinkHeader& /*header*/) override {
    return std::span<std::byte>();
  }
  Status received(comm::Link& /*link*/,
                  const comm::LinkHeader& /*header*/,
                  std::span<const std::byte> /*payload*/) override {
    return {};
  }
};

void forge(const Ranks& ranks, std::mt19937 random) {
  const std::vector<comm::Rank> agents{{0}, {1}};
  const auto links = comm::connect_agents(*ranks, agents, {}).value();
  comm::Link& link = *links.front();
  const std::vector<std::byte> payload(100, std::byte{7});
  for (int message = 0; message < 5; ++message) {
    comm::LinkHeader header{.kind = static_cast<std::uint32_t>(random() % 9)};
    for (std::uint64_t& word : header.words)
      word = random() % 3 == 0 ? random() : 0;
    std::ignore = link.send(header, std::span(payload).first(random() % payload.size()));
  }
  Silent silent;
  EXPECT_TRUE(eventually([&] {
    std::ignore = link.attend(POLLIN | POLLOUT, silent);
    return link.end().has_value();
  }));
}

// An answer without bytes ended the process, as there was no request that it was for.
TEST(NodeLinks, malformed_messages_close_the_link_and_nothing_else) {
  for (unsigned round = 0; round < 60; ++round) {
    const auto ran =
        comm::run_ranks({.count = 2, .per_node = 1}, [&](const Ranks& ranks) -> Status {
          if (ranks->rank().number == 1) {
            forge(ranks, std::mt19937(comm::kMutationSeed + round));
            return {};
          }
          EventLoop loop;
          const auto links = links_of(ranks);
          const auto agent = std::make_shared<IdleAgent>();
          links->set_sessions(
              {.open = [](const OpenRequest&) -> Result<std::shared_ptr<SessionHost>> {
                 return failure({.operation = "open"});
               },
               .leave = [](const SessionHandle&) {}});
          const auto remote = links->reader(request(), {{1}, kUnit}, agent);
          const auto session = host(loop, agent, remote);
          session->hint({.splinter = 0, .part = {0, kUnit}}, Urgency::kAsked);
          TransferSource::Transfer transfer;
          EXPECT_TRUE(session->next_transfer(transfer));
          EXPECT_TRUE(remote->take(session, transfer));
          for (int turn = 0; turn < 20; ++turn) {
            links->attend();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          links->end();
          return {};
        });
    EXPECT_TRUE(ran) << ran.error().message();
  }
}

}  // namespace
}  // namespace forebay::read
