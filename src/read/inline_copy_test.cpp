// SPDX-License-Identifier: Apache-2.0
// Tasks that copy on their own threads before they are suspended: on loops that sleep, loops that
// are only polled, and executors without helpers. Agents and other tasks copy meanwhile, and
// sessions end during requests. The sanitizers find races here.
#include <forebay/session.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::read {
namespace {

/// How the loop of a task is driven.
enum class LoopDriver : std::uint8_t { kWait, kPoll, kWaitAndPoll };

/// An event loop of the caller, and the threads that drive it.
class LoopThreads {
 public:
  LoopThreads(EventLoop& loop, LoopDriver driver, unsigned threads) : loop_(loop) {
    for (unsigned i = 0; i < threads; ++i)
      threads_.emplace_back([this, driver, i] { run(driver, i); });
  }
  ~LoopThreads() {
    stop_ = true;
    while (running_ > 0) {
      loop_.interrupt();
      std::this_thread::yield();
    }
    threads_.clear();
    loop_.poll();
  }
  LoopThreads(const LoopThreads&) = delete;
  LoopThreads& operator=(const LoopThreads&) = delete;

 private:
  void run(LoopDriver driver, unsigned i) {
    ++running_;
    for (unsigned round = i; !stop_; ++round) {
      const bool waits =
          driver == LoopDriver::kWaitAndPoll ? round % 2 == 0 : driver == LoopDriver::kWait;
      if (waits) {
        loop_.wait();
      } else {
        loop_.poll();
        std::this_thread::yield();
      }
    }
    --running_;
  }

  EventLoop& loop_;
  std::atomic<bool> stop_{false};
  std::atomic<unsigned> running_{0};
  std::vector<std::jthread> threads_;
};

struct Scenario {
  std::string name;
  LoopDriver driver = LoopDriver::kWait;
  SmallPlan plan;
};

/// Counters of all tasks; outlives them.
struct TaskCounters {
  std::atomic<int> alive{0};
  std::atomic<int> reads{0};
  std::atomic<int> closed{0};
};

/// Reads unaligned ranges until its session is closed. Some of its requests are dropped, polled,
/// cancelled or watched before they are awaited.
Detached read_until_closed(Session session,
                           Executor& executor,
                           Random random,
                           TaskCounters& counters) {
  std::vector<std::byte> into(6 * kUnit);
  while (true) {
    const ByteRange range = random.range(session.extent(), into.size());
    const std::span<std::byte> bytes = std::span(into).first(range.size);
    {
      const Future<View> dropped = session.view(random.range(session.extent(), kUnit));
      Future<ByteCount> cancelled = session.read(range.offset, bytes);
      if (random.one_in(2)) cancelled.poll();
      if (random.one_in(3)) cancelled.cancel();
    }
    Future<ByteCount> read = session.read(range.offset, bytes);
    const bool is_watched = random.one_in(4);
    EXPECT_TRUE(!is_watched || read.event_fd());
    const Result<ByteCount> got = co_await std::move(read).on(executor);
    if (!got) {
      EXPECT_EQ(got.error().kind(), ErrorClass::kClosed) << got.error().message();
      break;
    }
    EXPECT_TRUE(is_words(bytes, range.offset));
    ++counters.reads;
  }
  ++counters.closed;
  --counters.alive;
}

class InlineCopy : public ::testing::TestWithParam<Scenario> {
 protected:
  static constexpr std::uint64_t kFileBytes = 40 * kUnit + 321;
  static constexpr int kTasks = 6;

  Session open() { return fixture.open_words(kFileBytes, GetParam().plan); }

  SessionFixture fixture{PageCacheState::kWarm};
};

TEST_P(InlineCopy, closing_the_session_ends_tasks_of_several_executors) {
  ThreadExecutor foreign;  // has no helpers
  EventLoop plain;         // has helpers, and no idle work
  TaskCounters counters;
  const LoopThreads loop_threads(fixture.loop(), GetParam().driver, 2);
  const LoopThreads plain_loop_threads(plain, GetParam().driver, 1);
  const std::array<Executor*, 3> executors{&fixture.loop(), &foreign, &plain};
  for (int round = 0; round < 12; ++round) {
    const Session own = open();
    const int before = counters.reads;
    for (int task = 0; task < kTasks; ++task) {
      ++counters.alive;
      read_until_closed(own, *executors[task % executors.size()], Random(100 * round + task),
                        counters);
    }
    EXPECT_TRUE(wait_until([&] { return counters.reads >= before + 20 * (round % 3); }));
    own.close();
    EXPECT_TRUE(wait_until([&] { return counters.alive == 0; })) << "round " << round;
  }
  EXPECT_EQ(counters.closed, 12 * kTasks);
}

TEST_P(InlineCopy, tasks_and_blocked_threads_share_a_session) {
  TaskCounters counters;
  const Session session = open();
  {
    const LoopThreads loop_threads(fixture.loop(), GetParam().driver, 2);
    for (int task = 0; task < kTasks; ++task) {
      ++counters.alive;
      read_until_closed(session, fixture.loop(), Random(task), counters);
    }
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        Random random(1000 + i);
        for (int round = 0; round < 150; ++round)
          ASSERT_TRUE(reads_words(session, random.range(session.extent(), 9 * kUnit)));
      });
    }
    threads.clear();
    const int before = counters.reads;
    EXPECT_TRUE(wait_until([&] { return counters.reads > before + kTasks; })) << "tasks stopped";
    session.close();
    EXPECT_TRUE(wait_until([&] { return counters.alive == 0; }));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Loops,
    InlineCopy,
    ::testing::Values(
        Scenario{"waited_on", LoopDriver::kWait, {.slots = 3, .slots_max = 3, .readahead = 2}},
        Scenario{"polled", LoopDriver::kPoll, {.slots = 3, .slots_max = 3, .readahead = 2}},
        Scenario{"both", LoopDriver::kWaitAndPoll, {.slots = 2, .slots_max = 8, .readahead = 2}},
        Scenario{"one_slot", LoopDriver::kWait, {.slots = 1, .slots_max = 1}}),
    [](const ::testing::TestParamInfo<Scenario>& tested) { return tested.param.name; });

}  // namespace
}  // namespace forebay::read
