// SPDX-License-Identifier: Apache-2.0
// CopyAgent and task threads share the work of copying: no request is lost between them.
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

constexpr SplinterPart kWhole{0, kUnit};

struct Flag final : detail::Waiter {
  void signal() noexcept override { raised = true; }
  std::atomic<bool> raised{false};
};

/// One agent, and a session on a cached file whose reads the test can block.
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
    session = LocalSession::open({.file = file,
                                  .extent = extent,
                                  .plan = *plan,
                                  .windows = windows,
                                  .agent = agent,
                                  .executor = &loop,
                                  .is_cached = true})
                  .value();
  }
  ~CopyAgentTest() override {
    file->unblock_reads();
    session->close();
    agent->stop();
  }
  void prefetch(SplinterIndex splinter) {
    session->enqueue_load({.splinter = splinter, .part = kWhole}, LoadPriority::kRequested);
  }

  std::shared_ptr<WindowPool> windows = std::make_shared<WindowPool>(64_MiB);
  std::shared_ptr<CopyAgent> agent = CopyAgent::start(1, [] {}).value();
  std::shared_ptr<GatedFile> file =
      std::make_shared<GatedFile>(kSplinters * kUnit, Access::kBuffered);
  EventLoop loop;
  std::shared_ptr<LocalSession> session;
};

// The agent looked while a helper filled the last slot, and went to sleep. The end of the helper's
// load was the last event.
TEST_F(CopyAgentTest, helper_notifies_agent_after_its_load) {
  for (SplinterIndex i = 0; i < 3; ++i) {
    prefetch(i);
    ASSERT_TRUE(wait_until([&] { return session->pin(i, kWhole); }));
    session->unpin(i, 0);  // requested, and never taken
  }
  file->block_reads();
  prefetch(3);
  std::atomic<bool> opened{false};
  std::thread helper([&] {
    while (!agent->help() && !opened)  // the agent may have loaded it first
      std::this_thread::yield();
  });
  ASSERT_TRUE(wait_until([&] { return file->waiting_count() > 0; }));
  Flag flag;
  SplinterRequest request{.splinter = 9, .part = kWhole};
  const bool armed = session->arm(request, flag);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the agent looks, and sleeps
  file->unblock_reads();
  opened = true;
  helper.join();
  EXPECT_TRUE(armed);
  EXPECT_TRUE(wait_until([&] { return flag.raised.load(); }));
  session->disarm(9, flag);
}

Detached read_words(const Session& session, std::uint64_t count, bool& done) {
  std::vector<std::byte> into(kUnit);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto got = co_await session.read(i * kUnit, std::span(into));
    EXPECT_TRUE(got);
    EXPECT_TRUE(is_words(into, i * kUnit));
  }
  done = true;
}

// Thousands of suspended tasks take more memory than a core's cache has.
TEST_F(CopyAgentTest, task_copies_instead_of_being_suspended) {
  const Session handle = HandleAccess::make_session(session);
  loop.poll();
  bool done = false;
  read_words(handle, 3, done);
  EXPECT_TRUE(done);
  EXPECT_GE(session->report().loads_by_waiters, 1U);
}

// While a thread streams, its session is left to it. Waiters that are not threads of the session
// need the agent.
TEST_F(CopyAgentTest, foreign_waiter_is_served_while_a_thread_streams) {
  const Session handle = HandleAccess::make_session(session);
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
    SplinterRequest request{.splinter = splinter, .part = kWhole};
    if (!session->arm(request, flag)) continue;
    ASSERT_TRUE(wait_until([&] { return flag.raised.load(); })) << "round " << round;
  }
  const auto copy = session->start_bypass_read({kUnit, 10});
  EXPECT_TRUE(wait_until([&] { return copy->is_finished(); }));
  stop = true;
  streamer.join();
}

// Tasks of a loop that is never waited on counted as helpers. They were not served while another
// thread streamed, and only every 10 ms if alone.
TEST_F(CopyAgentTest, task_of_a_polled_loop_is_served_while_another_thread_helps) {
  const Session handle = HandleAccess::make_session(session);
  loop.set_idle_work([this] { return agent->help(); });
  ASSERT_GE(loop.event_fd(), 0);
  std::atomic<bool> stop{false};
  std::jthread streamer([&] {  // it never needs the task's splinters
    while (!stop)
      session->record_help();
  });
  bool done = false;
  const auto begin = std::chrono::steady_clock::now();
  read_words(handle, kSplinters, done);
  EXPECT_TRUE(run_until(loop, [&] { return done; }));
  // It took half a minute, until the system preempted the helper.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  stop = true;
}

}  // namespace
}  // namespace forebay::read
