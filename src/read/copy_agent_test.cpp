// SPDX-License-Identifier: Apache-2.0
// Agents that share the work of copying with the threads that want it: nobody is forgotten between
// them.
#include "read/copy_agent.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::read {
namespace {

constexpr ValidBytes kWhole{0, kUnit};

struct Flag final : detail::Waiter {
  void signal() noexcept override { raised = true; }
  std::atomic<bool> raised{false};
};

/// One agent, and a session on a cached file whose reads can be held up.
class CopyAgentTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSplinters = 16;

  CopyAgentTest() {
    const ByteRange extent{0, kSplinters * kUnit};
    const auto plan = plan_read({.extent = extent,
                                 .access = Access::kBuffered,
                                 .access_reason = {},
                                 .alignment_bytes = 1,
                                 .available_bytes = windows->available_bytes(),
                                 .total_bytes = windows->budget_bytes()},
                                SmallPlan{});
    session = SessionHost::open({.file = file,
                                 .extent = extent,
                                 .plan = *plan,
                                 .windows = windows,
                                 .agent = agent,
                                 .executor = &loop,
                                 .cached = true})
                  .value();
  }
  ~CopyAgentTest() override {
    file->open();
    session->close();
    agent->stop();
  }
  void want(SplinterIndex splinter) {
    session->hint({.splinter = splinter, .part = kWhole}, Urgency::kAsked);
  }

  std::shared_ptr<WindowPool> windows = std::make_shared<WindowPool>(64_MiB);
  std::shared_ptr<CopyAgent> agent = CopyAgent::start(1, [] {}).value();
  std::shared_ptr<GatedFile> file =
      std::make_shared<GatedFile>(kSplinters * kUnit, Access::kBuffered);
  EventLoop loop;
  std::shared_ptr<SessionHost> session;
};

// The agent looked while the last slot was being filled by a helper, and rested; what the helper
// finished was the last that happened.
TEST_F(CopyAgentTest, who_helps_tells_the_agent_what_became_possible) {
  for (SplinterIndex i = 0; i < 3; ++i) {
    want(i);
    ASSERT_TRUE(eventually([&] { return session->pin(i, kWhole); }));
    session->unpin(i, 0);  // asked for, and never taken
  }
  file->shut();
  want(3);
  std::atomic<bool> opened{false};
  std::thread helper([&] {
    while (!agent->help() && !opened)  // the agent may have been first
      std::this_thread::yield();
  });
  ASSERT_TRUE(eventually([&] { return file->waiting() > 0; }));
  Flag flag;
  Need need{.splinter = 9, .part = kWhole};
  const bool armed = session->arm(need, flag);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the agent looks, and rests
  file->open();
  opened = true;
  helper.join();
  EXPECT_TRUE(armed);
  EXPECT_TRUE(eventually([&] { return flag.raised.load(); }));
  session->disarm(9, flag);
}

Detached sum_of_words(const Session& session, std::uint64_t count, bool& done) {
  std::vector<std::byte> into(kUnit);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto got = co_await session.read(i * kUnit, std::span(into));
    EXPECT_TRUE(got);
    EXPECT_TRUE(is_words(into, i * kUnit));
  }
  done = true;
}

// Thousands that are suspended at once take more memory than a core's cache has.
TEST_F(CopyAgentTest, a_task_copies_for_itself_instead_of_being_suspended) {
  const Session handle = HandleAccess::session(session);
  loop.poll();
  bool done = false;
  sum_of_words(handle, 3, done);
  EXPECT_TRUE(done);
  EXPECT_GE(session->report().loads_by_waiters, 1U);
}

// While a thread streams, its session is left to it; those who wait without a thread of the
// session's are not part of that.
TEST_F(CopyAgentTest, a_foreign_waiter_is_served_beside_a_thread_that_streams) {
  const Session handle = HandleAccess::session(session);
  std::atomic<bool> stop{false};
  std::thread streamer([&] {
    std::vector<std::byte> into(kUnit);
    for (std::uint64_t i = 0; !stop; ++i)
      static_cast<void>(handle.read(i % (kSplinters - 4) * kUnit, std::span(into)).wait());
  });
  Flag flag;
  for (int round = 0; round < 300; ++round) {
    const SplinterIndex splinter = kSplinters - 1 - static_cast<SplinterIndex>(round % 4);
    flag.raised = false;
    Need need{.splinter = splinter, .part = kWhole};
    if (!session->arm(need, flag)) continue;
    ASSERT_TRUE(eventually([&] { return flag.raised.load(); })) << "round " << round;
  }
  const auto copy = session->read_privately({kUnit, 10});
  EXPECT_TRUE(eventually([&] { return copy->finished(); }));
  stop = true;
  streamer.join();
}

// Tasks of a loop that is never waited on counted as people who help themselves: they were not
// served while another thread streamed, and each 10 ms if they were alone.
TEST_F(CopyAgentTest, a_task_of_a_loop_that_is_only_polled_is_served_beside_those_who_help) {
  const Session handle = HandleAccess::session(session);
  loop.set_idle_work([this] { return agent->help(); });
  ASSERT_GE(loop.event_fd(), 0);
  std::atomic<bool> stop{false};
  std::jthread streamer([&] {  // what it needs is always something else
    while (!stop)
      session->note_help();
  });
  bool done = false;
  const auto begin = std::chrono::steady_clock::now();
  sum_of_words(handle, kSplinters, done);
  EXPECT_TRUE(run_until(loop, [&] { return done; }));
  // Half a minute, until the system gave the core of those who help to somebody else.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  stop = true;
}

}  // namespace
}  // namespace forebay::read
