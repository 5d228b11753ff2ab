// SPDX-License-Identifier: Apache-2.0
// Tasks that copy for themselves before they are suspended, on loops that sleep, loops that are
// only polled and executors that know nothing of it, while agents and each other copy, too, and
// sessions end under their hands. Run under the sanitizers, this is where races show.
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

/// Who empties the loop that a task is on.
enum class Turning : std::uint8_t { kWaits, kPolls, kWaitsAndPolls };

/// An event loop of the caller's, and the threads that empty it.
class Turned {
 public:
  Turned(EventLoop& loop, Turning turning, unsigned threads) : loop_(loop) {
    for (unsigned i = 0; i < threads; ++i)
      threads_.emplace_back([this, turning, i] { turn(turning, i); });
  }
  ~Turned() {
    stop_ = true;
    while (running_ > 0) {
      loop_.interrupt();
      std::this_thread::yield();
    }
    threads_.clear();
    loop_.poll();
  }
  Turned(const Turned&) = delete;
  Turned& operator=(const Turned&) = delete;

 private:
  void turn(Turning turning, unsigned i) {
    ++running_;
    for (unsigned round = i; !stop_; ++round) {
      const bool waits =
          turning == Turning::kWaitsAndPolls ? round % 2 == 0 : turning == Turning::kWaits;
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

struct Scene {
  std::string name;
  Turning turning = Turning::kWaits;
  SmallPlan plan;
};

/// What tasks have done; outlives them.
struct Score {
  std::atomic<int> alive{0};
  std::atomic<int> reads{0};
  std::atomic<int> closed{0};
};

/// A reader of odd ranges until its session is closed. Some of its requests are dropped, polled,
/// taken back or watched before they are awaited.
Detached wander(Session session, Executor& executor, Random random, Score& score) {
  std::vector<std::byte> into(6 * kUnit);
  while (true) {
    const ByteRange range = random.range(session.extent(), into.size());
    const std::span<std::byte> bytes = std::span(into).first(range.size);
    {
      const Future<View> dropped = session.view(random.range(session.extent(), kUnit));
      Future<ByteCount> cancelled = session.read(range.offset, bytes);
      if (random.chance(2)) cancelled.poll();
      if (random.chance(3)) cancelled.cancel();
    }
    Future<ByteCount> read = session.read(range.offset, bytes);
    const bool is_watched = random.chance(4);
    EXPECT_TRUE(!is_watched || read.event_fd());
    const Result<ByteCount> got = co_await std::move(read).on(executor);
    if (!got) {
      EXPECT_EQ(got.error().kind(), ErrorClass::kClosed) << got.error().message();
      break;
    }
    EXPECT_TRUE(is_words(bytes, range.offset));
    ++score.reads;
  }
  ++score.closed;
  --score.alive;
}

class InlineCopy : public ::testing::TestWithParam<Scene> {
 protected:
  static constexpr std::uint64_t kFileBytes = 40 * kUnit + 321;
  static constexpr int kTasks = 6;

  Session open() { return rig.open_words(kFileBytes, GetParam().plan); }

  Rig rig{Whereabouts::kInPageCache};
};

TEST_P(InlineCopy, tasks_of_several_executors_meet_the_end_of_their_session) {
  ThreadExecutor foreign;  // which grants nothing
  EventLoop plain;         // which grants, and does nothing while idle
  Score score;
  const Turned turned(rig.loop(), GetParam().turning, 2);
  const Turned plainly_turned(plain, GetParam().turning, 1);
  const std::array<Executor*, 3> executors{&rig.loop(), &foreign, &plain};
  for (int round = 0; round < 12; ++round) {
    const Session own = open();
    const int before = score.reads;
    for (int task = 0; task < kTasks; ++task) {
      ++score.alive;
      wander(own, *executors[task % executors.size()], Random(100 * round + task), score);
    }
    EXPECT_TRUE(eventually([&] { return score.reads >= before + 20 * (round % 3); }));
    own.close();
    EXPECT_TRUE(eventually([&] { return score.alive == 0; })) << "round " << round;
  }
  EXPECT_EQ(score.closed, 12 * kTasks);
}

TEST_P(InlineCopy, tasks_and_blocked_threads_share_a_session) {
  Score score;
  const Session session = open();
  {
    const Turned turned(rig.loop(), GetParam().turning, 2);
    for (int task = 0; task < kTasks; ++task) {
      ++score.alive;
      wander(session, rig.loop(), Random(task), score);
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
    const int before = score.reads;
    EXPECT_TRUE(eventually([&] { return score.reads > before + kTasks; })) << "they go on alone";
    session.close();
    EXPECT_TRUE(eventually([&] { return score.alive == 0; }));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Loops,
    InlineCopy,
    ::testing::Values(
        Scene{"waited_on", Turning::kWaits, {.slots = 3, .slots_max = 3, .eager = 2}},
        Scene{"polled", Turning::kPolls, {.slots = 3, .slots_max = 3, .eager = 2}},
        Scene{"both", Turning::kWaitsAndPolls, {.slots = 2, .slots_max = 8, .eager = 2}},
        Scene{"one_slot", Turning::kWaits, {.slots = 1, .slots_max = 1}}),
    [](const ::testing::TestParamInfo<Scene>& tested) { return tested.param.name; });

}  // namespace
}  // namespace forebay::read
