// SPDX-License-Identifier: Apache-2.0
// Agents of two nodes, each played by a thread: what becomes of a view that one of them waits for
// on behalf of the other when they end, in whatever order.
#include "read/node_links.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/in_process.hpp"
#include "read/testing.hpp"

namespace forebay::read {
namespace {

using Ranks = std::shared_ptr<comm::Communicator>;

/// Has much to do, and does none of it.
class IdleAgent final : public Agent {
 public:
  void serve(const std::shared_ptr<TransferSource>& /*source*/) override {}
  void stop() override {}
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
std::shared_ptr<SessionHost> host(Executor& loop, std::shared_ptr<RemoteReader> remote = nullptr) {
  return SessionHost::open({.file = word_file(kExtent.size),
                            .extent = kExtent,
                            .plan = request().plan,
                            .windows = std::make_shared<WindowPool>(1_MiB),
                            .agent = std::make_shared<IdleAgent>(),
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
  const auto session = host(loop, remote);
  session->hint(0, {0, kUnit}, Urgency::kAsked, Precision::kWhole);
  TransferSource::Transfer transfer;
  EXPECT_TRUE(session->next_transfer(transfer));
  EXPECT_TRUE(remote->take(session, transfer));
  links->attend();
  links->end();
  return {};
}

// The other one left, and the session was forgotten, but not the view: it was signalled when the
// session ended, on a loop that was gone.
TEST(NodeLinks, views_that_nobody_asks_for_any_more_end_with_the_links) {
  const auto ran = comm::run_ranks({.count = 2, .per_node = 1}, [](const Ranks& ranks) -> Status {
    if (ranks->rank().number == 1) return ask_and_end(ranks);
    EventLoop loop;
    const auto own = host(loop);  // a rank of this node has it open all the time
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
    return {};
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

}  // namespace
}  // namespace forebay::read
