// SPDX-License-Identifier: Apache-2.0
// Agents of two nodes, each run by a thread: a view that one of them reads for the other, when they
// end in any order.
#include "read/node_links.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

#include "comm/in_process.hpp"
#include "comm/message_testing.hpp"
#include "read/testing.hpp"

namespace forebay::read {
namespace {

using CommunicatorPtr = std::shared_ptr<comm::Communicator>;

/// Records notifications, and leaves the work to the test.
class IdleAgent final : public ReadAgent {
 public:
  void notify(const std::shared_ptr<TransferSource>& source) override { last_source = source; }
  void stop() override {}

  std::weak_ptr<TransferSource> last_source;
};

constexpr ByteRange kExtent{0, 8 * kUnit};
const SessionHandle kSession{.runtime = 1, .number = 7};

OpenSessionRequest request() {
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

/// A session whose reads do not finish, unless `remote` reads them.
std::shared_ptr<LocalSession> open_session(Executor& loop,
                                           std::shared_ptr<ReadAgent> agent,
                                           std::shared_ptr<RemoteReader> remote = nullptr) {
  return LocalSession::open({.file = word_file(kExtent.size),
                             .extent = kExtent,
                             .plan = request().plan,
                             .windows = std::make_shared<WindowPool>(1_MiB),
                             .agent = std::move(agent),
                             .executor = &loop,
                             .handle = kSession,
                             .remote_reader = std::move(remote)})
      .value();
}

std::shared_ptr<NodeLinks> connect_links(const CommunicatorPtr& ranks) {
  const std::vector<comm::Rank> agents{{0}, {1}};
  auto links = comm::connect_agents(*ranks, agents, {}).value();
  const std::uint32_t other = links.front()->peer().number;
  return NodeLinks::start(
             {.links = std::move(links), .nodes = {other}, .own_node = ranks->rank().number})
      .value();
}

bool poll_until(NodeLinks& links, const std::function<bool()>& condition) {
  return wait_until([&] {
    links.poll();
    return condition();
  });
}

/// Requests the first splinter from the other node, and ends without waiting for it.
Status request_and_shut_down(const CommunicatorPtr& ranks) {
  EventLoop loop;
  const auto links = connect_links(ranks);
  const auto agent = std::make_shared<IdleAgent>();
  const auto remote = links->create_reader(request(), {{0}, kUnit}, agent);
  const auto session = open_session(loop, agent, remote);
  session->enqueue_load({.splinter = 0, .part = {0, kUnit}}, LoadPriority::kRequested);
  TransferSource::Transfer transfer;
  EXPECT_TRUE(session->next_transfer(transfer));
  EXPECT_TRUE(remote->try_fetch(session, transfer));
  links->poll();
  links->shutdown();
  return {};
}

/// Two nodes, one of which requests a splinter from the other and then ends.
void run_with_departing_peer(const std::function<void(const CommunicatorPtr&)>& serve) {
  const auto ran =
      comm::run_ranks({.count = 2, .per_node = 1}, [&](const CommunicatorPtr& ranks) -> Status {
        if (ranks->rank().number == 1) return request_and_shut_down(ranks);
        serve(ranks);
        return {};
      });
  EXPECT_TRUE(ran) << ran.error().message();
}

// The other node left, and the session was dropped, but not the view: it was signaled at the end of
// the session, on a destroyed loop.
TEST(NodeLinks, abandoned_views_end_with_the_links) {
  run_with_departing_peer([](const CommunicatorPtr& ranks) {
    EventLoop loop;
    // A rank of this node keeps the session open.
    const auto served_session = open_session(loop, std::make_shared<IdleAgent>());
    auto links = connect_links(ranks);
    bool left = false;
    links->set_session_callbacks({.open = [&](const OpenSessionRequest&) { return served_session; },
                                  .close = [&](const SessionHandle&) { left = true; }});
    const long before = served_session.use_count();
    EXPECT_TRUE(poll_until(*links, [&] { return left; }));
    EXPECT_GT(served_session.use_count(), before);  // the view is pending
    links->shutdown();
    EXPECT_EQ(served_session.use_count(), before);
    links.reset();
    served_session->close();
  });
}

/// Makes each later request of the first splinter a private copy.
void fail_first_splinter(LocalSession& session) {
  session.enqueue_load({.splinter = 0, .part = {0, kUnit}}, LoadPriority::kRequested);
  TransferSource::Transfer load;
  ASSERT_TRUE(session.next_transfer(load));
  session.finish(load, failure({.kind = ErrorClass::kIo, .operation = "read"}));
}

// A private copy that a thread of another agent is reading cannot be stopped when its session ends.
TEST(NodeLinks, shutdown_waits_for_private_copies_of_pending_views) {
  run_with_departing_peer([](const CommunicatorPtr& ranks) {
    EventLoop loop;
    const auto agent = std::make_shared<IdleAgent>();
    const auto served_session = open_session(loop, agent);
    fail_first_splinter(*served_session);
    auto links = connect_links(ranks);
    links->set_session_callbacks({.open = [&](const OpenSessionRequest&) { return served_session; },
                                  .close = [](const SessionHandle&) {}});
    std::shared_ptr<TransferSource> copies;
    TransferSource::Transfer copy;
    EXPECT_TRUE(poll_until(*links, [&] {
      copies = agent->last_source.lock();
      return copies && copies->next_transfer(copy) && copy.bypass_read;
    }));
    const std::jthread thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      copies->read_synchronously(copy);
    });
    links->shutdown();
    links.reset();
    EXPECT_TRUE(copy.bypass_read->is_finished());
  });
}

std::shared_ptr<NodeLinks> connect_three(const CommunicatorPtr& ranks) {
  const std::vector<comm::Rank> agents{{0}, {1}, {2}};
  NodeLinks::Setup setup{.links = comm::connect_agents(*ranks, agents, {}).value(), .nodes = {}};
  for (const auto& link : setup.links)
    setup.nodes.push_back(link->peer().number);
  setup.own_node = ranks->rank().number;
  return NodeLinks::start(std::move(setup)).value();
}

// Node 2 has read the bytes again from node 0 before node 0 discarded them, and kept the old ones.
TEST(NodeLinks, node_that_serves_others_passes_on_that_bytes_have_changed) {
  const auto ran =
      comm::run_ranks({.count = 3, .per_node = 1}, [](const CommunicatorPtr& ranks) -> Status {
        EventLoop loop;
        const std::uint32_t node = ranks->rank().number;
        const auto links = connect_three(ranks);
        const auto served = open_session(loop, std::make_shared<IdleAgent>());
        bool is_open = false;
        int invalidations = 0;
        links->set_session_callbacks({.open =
                                          [&](const OpenSessionRequest&) {
                                            is_open = true;
                                            return served;
                                          },
                                      .close = [](const SessionHandle&) {},
                                      .invalidate =
                                          [&](const SessionHandle& handle, ByteRange range) {
                                            EXPECT_EQ(handle.number, kSession.number);
                                            EXPECT_EQ(range, (ByteRange{5, kUnit}));
                                            ++invalidations;
                                          }});
        std::shared_ptr<RemoteReader> remote;
        if (node == 2)
          remote = links->create_reader(request(), {{0}, kUnit}, std::make_shared<IdleAgent>());
        const bool serves = node == 0;
        EXPECT_TRUE(!serves || poll_until(*links, [&] { return is_open; }));
        if (Status met = ranks->barrier(); !met) return met;
        if (node == 1) {
          links->invalidate(kSession, {5, kUnit});
          links->poll();
        }
        const int expected = node == 2 ? 2 : 1 - static_cast<int>(node);
        EXPECT_TRUE(poll_until(*links, [&] { return invalidations >= expected; }));
        if (Status met = ranks->barrier(); !met) return met;
        links->poll();
        EXPECT_EQ(invalidations, expected) << "at node " << node;
        remote = nullptr;
        if (Status met = ranks->barrier(); !met) return met;
        served->close();
        links->shutdown();
        return {};
      });
  EXPECT_TRUE(ran) << ran.error().message();
}

// The link was used by the thread that held the last reference, at the same time as by the agent's.
TEST(NodeLinks, session_that_another_thread_drops_is_closed_by_the_agents_thread) {
  const auto ran =
      comm::run_ranks({.count = 2, .per_node = 1}, [](const CommunicatorPtr& ranks) -> Status {
        EventLoop loop;
        const auto links = connect_links(ranks);
        const auto served = open_session(loop, std::make_shared<IdleAgent>());
        bool is_closed = false;
        links->set_session_callbacks({.open = [&](const OpenSessionRequest&) { return served; },
                                      .close = [&](const SessionHandle&) { is_closed = true; }});
        if (ranks->rank().number == 1) {
          auto remote =
              links->create_reader(request(), {{0}, kUnit}, std::make_shared<IdleAgent>());
          std::jthread([dropped = std::move(remote)]() mutable { dropped = nullptr; }).join();
          pollfd agent{.fd = links->descriptor(), .events = POLLIN, .revents = 0};
          EXPECT_EQ(::poll(&agent, 1, 0), 1) << "the agent's thread has work";
        }
        EXPECT_TRUE(poll_until(*links, [&] { return is_closed || ranks->rank().number == 1; }));
        links->poll();
        if (Status met = ranks->barrier(); !met) return met;
        served->close();
        links->shutdown();
        return {};
      });
  EXPECT_TRUE(ran) << ran.error().message();
}

/// Receiver of a link that sends malformed messages to a node with a pending request.
class NullReceiver final : public comm::LinkHandler {
 public:
  Result<std::span<std::byte>> payload_buffer(comm::Link& /*link*/,
                                              const comm::LinkHeader& /*header*/) override {
    return std::span<std::byte>();
  }
  Status handle_message(comm::Link& /*link*/,
                        const comm::LinkHeader& /*header*/,
                        std::span<const std::byte> /*payload*/) override {
    return {};
  }
};

void send_malformed(const CommunicatorPtr& ranks, std::mt19937 random) {
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
  NullReceiver silent;
  EXPECT_TRUE(wait_until([&] {
    std::ignore = link.process_events(POLLIN | POLLOUT, silent);
    return link.close_reason().has_value();
  }));
}

/// Receiver of a link that expects one Error.
class ErrorReceiver final : public comm::LinkHandler {
 public:
  std::optional<Error> error;

 private:
  Result<std::span<std::byte>> payload_buffer(comm::Link& /*link*/,
                                              const comm::LinkHeader& header) override {
    payload_.resize(header.payload_bytes);
    return std::span(payload_);
  }
  Status handle_message(comm::Link& /*link*/,
                        const comm::LinkHeader& /*header*/,
                        std::span<const std::byte> payload) override {
    error = comm::error_from_bytes(payload).value();
    return {};
  }

  std::vector<std::byte> payload_;
};

Error request_closed_session(comm::Link& link) {
  std::ignore = link.send(header_of(LinkMessage::kRequest, {1, kSession.number, 0, kUnit}), {});
  ErrorReceiver receiver;
  EXPECT_TRUE(wait_until([&] {
    std::ignore = link.process_events(POLLIN | POLLOUT, receiver);
    return receiver.error.has_value();
  }));
  return *receiver.error;
}

// The Error named the node that had sent the request.
TEST(NodeLinks, error_for_a_closed_session_names_the_node_that_closed_it) {
  const auto ran =
      comm::run_ranks({.count = 2, .per_node = 1}, [&](const CommunicatorPtr& ranks) -> Status {
        if (ranks->rank().number == 1) {
          const auto links = comm::connect_agents(*ranks, {{{0}, {1}}}, {}).value();
          const Error error = request_closed_session(*links.front());
          EXPECT_EQ(error.cause(), "the agent of node 0 has ended");
          return ranks->barrier();
        }
        const auto links = connect_links(ranks);
        std::jthread agent([&](const std::stop_token& is_stopped) {
          while (!is_stopped.stop_requested())
            links->poll();
        });
        const Status received = ranks->barrier();
        agent = {};
        links->shutdown();
        return received;
      });
  EXPECT_TRUE(ran) << ran.error().message();
}

// A reply without bytes once ended the process, because no request matched it.
TEST(NodeLinks, malformed_messages_close_only_their_link) {
  for (unsigned round = 0; round < 60; ++round) {
    const auto ran =
        comm::run_ranks({.count = 2, .per_node = 1}, [&](const CommunicatorPtr& ranks) -> Status {
          if (ranks->rank().number == 1) {
            send_malformed(ranks, std::mt19937(comm::kMutationSeed + round));
            return {};
          }
          EventLoop loop;
          const auto links = connect_links(ranks);
          const auto agent = std::make_shared<IdleAgent>();
          links->set_session_callbacks(
              {.open = [](const OpenSessionRequest&) -> Result<std::shared_ptr<LocalSession>> {
                 return failure({.operation = "open"});
               },
               .close = [](const SessionHandle&) {}});
          const auto remote = links->create_reader(request(), {{1}, kUnit}, agent);
          const auto session = open_session(loop, agent, remote);
          session->enqueue_load({.splinter = 0, .part = {0, kUnit}}, LoadPriority::kRequested);
          TransferSource::Transfer transfer;
          EXPECT_TRUE(session->next_transfer(transfer));
          EXPECT_TRUE(remote->try_fetch(session, transfer));
          for (int iteration = 0; iteration < 20; ++iteration) {
            links->poll();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          links->shutdown();
          return {};
        });
    EXPECT_TRUE(ran) << ran.error().message();
  }
}

}  // namespace
}  // namespace forebay::read
