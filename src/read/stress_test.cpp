// SPDX-License-Identifier: Apache-2.0
// Many threads make random calls on one session whose window is far too small for them. The
// sanitizers find races and lost wake-ups here.
#include <forebay/istream.hpp>
#include <forebay/session.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::read {
namespace {

struct Scenario {
  std::string name;
  SmallPlan plan;
  PageCacheState page_cache = PageCacheState::kCold;
  bool is_device = false;
};

/// Views that one task leaves for another one to release.
class ViewQueue {
 public:
  void push(View view) {
    const std::lock_guard lock(mutex_);
    views_.push_back(std::move(view));
  }
  std::optional<View> pop() {
    const std::lock_guard lock(mutex_);
    if (views_.empty()) return std::nullopt;
    std::optional<View> view = std::move(views_.back());
    views_.pop_back();
    return view;
  }

 private:
  std::mutex mutex_;
  std::vector<View> views_;
};

class Stress : public ::testing::TestWithParam<Scenario> {
 protected:
  static constexpr std::uint64_t kFileBytes = 40 * kUnit + 1234;
  static constexpr ByteRange kExtent{333, kFileBytes - 999};

  Session open() {
    std::shared_ptr<storage::File> file = word_file(kFileBytes);
    if (GetParam().is_device) file = std::make_shared<GatedFile>(kFileBytes);
    return fixture.open(std::move(file), kExtent, GetParam().plan);
  }
  void step(Random& random);
  void take_view(Random& random);
  void drop_or_cancel(Random& random);
  void read_list(Random& random);
  void poll(Random& random);
  void watch(Random& random);

  SessionFixture fixture{GetParam().page_cache};
  Session session = open();
  ViewQueue view_queue;
};

void Stress::take_view(Random& random) {
  const ByteRange range = random.range(kExtent, session.plan().budget_bytes);
  auto view = result_of(session.view(range));
  ASSERT_TRUE(view) << view.error().message();
  ASSERT_TRUE(is_words(view->bytes(), range.offset));
  if (random.one_in(3)) view_queue.push(std::move(*view));
  const std::optional<View> found = view_queue.pop();
  ASSERT_TRUE(!found || is_words(found->bytes(), found->range().offset));
}

void Stress::drop_or_cancel(Random& random) {
  const ByteRange range = random.range(kExtent, 3 * kUnit);
  std::vector<std::byte> into(range.size);
  Future<ByteCount> read = session.read(range.offset, std::span(into));
  Future<View> view = session.view(random.range(kExtent, kUnit));
  if (random.one_in(2)) read.poll();
  const bool watched = random.one_in(2);
  EXPECT_TRUE(!watched || view.event_fd());
  if (random.one_in(2)) view.wait_for(std::chrono::microseconds(50));
  if (random.one_in(2)) read.cancel();
}

void Stress::read_list(Random& random) {
  std::vector<ByteRange> ranges(random.uniform(8));
  std::vector<std::byte> expected;
  for (ByteRange& range : ranges) {
    range = random.range(kExtent, 2000);
    const std::vector<std::byte> bytes = word_bytes(range);
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> into(expected.size());
  const auto got = result_of(session.read(ranges, std::span(into)));
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_TRUE(into == expected);
}

void Stress::poll(Random& random) {
  const ByteRange range = random.range(kExtent, 2 * kUnit);
  std::vector<std::byte> into(range.size);
  Future<ByteCount> read = session.read(range.offset, std::span(into));
  ASSERT_TRUE(wait_until([&] { return read.poll(); }));
  ASSERT_TRUE(read.wait());
  ASSERT_TRUE(is_words(into, range.offset));
}

/// As a foreign loop that calls before its descriptor is readable.
void Stress::watch(Random& random) {
  const ByteRange range = random.range(kExtent, 6 * kUnit);
  std::vector<std::byte> into(range.size);
  Future<ByteCount> read = session.read(range.offset, std::span(into));
  ASSERT_TRUE(read.event_fd());
  const auto deadline = std::chrono::steady_clock::now() + kTestTimeout;
  while (!read.poll()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  ASSERT_TRUE(read.wait());
  ASSERT_TRUE(is_words(into, range.offset));
}

void Stress::step(Random& random) {
  switch (random.uniform(9)) {
    case 0:
    case 1:
      return take_view(random);
    case 2:
      return drop_or_cancel(random);
    case 3:
      return read_list(random);
    case 4:
      return poll(random);
    case 5:
      session.prefetch(random.range(kExtent, 4 * kUnit));
      return;
    case 6:
      return watch(random);
    default: {
      const ByteRange range = random.range(kExtent, random.one_in(5) ? kExtent.size : kUnit);
      ASSERT_TRUE(reads_words(session, range));
    }
  }
}

Detached stream_all(Session session, Executor& executor, std::atomic<int>& left) {
  AsyncInputStream in(session);
  std::vector<std::byte> into(1500);
  while (!in.eof()) {
    const std::uint64_t at = session.extent().offset + in.tellg();
    const auto got = co_await in.read(std::span(into)).on(executor);
    EXPECT_TRUE(got && is_words(std::span(into).first(*got), at));
  }
  --left;
}

TEST_P(Stress, threads_make_random_calls) {
  const Random seeds;
  ThreadExecutor executor;
  std::atomic<int> left{4};
  for (int i = 0; i < 4; ++i)
    stream_all(session, i % 2 == 0 ? static_cast<Executor&>(executor) : fixture.loop(), left);
  std::vector<std::jthread> threads;
  std::atomic<int> running{6};
  for (unsigned i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      Random random(seeds.seed() + i);
      for (int round = 0; round < 120 && !HasFatalFailure(); ++round)
        step(random);
      --running;
    });
  }
  EXPECT_TRUE(run_until(fixture.loop(), [&] { return left == 0; })) << left << " streams hang";
  threads.clear();
  EXPECT_EQ(running, 0);
}

TEST_P(Stress, session_is_closed_during_random_calls) {
  for (int round = 0; round < 10; ++round) {
    const Session own = open();
    std::atomic<int> ends{0};
    std::atomic<int> reads{0};
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        Random random(static_cast<std::uint64_t>(round) * 10 + i);
        std::vector<std::byte> into(3 * kUnit);
        while (true) {
          const ByteRange range = random.range(kExtent, into.size());
          const auto got = result_of(own.read(range.offset, std::span(into).first(range.size)));
          const auto view = result_of(own.view(random.range(kExtent, kUnit)));
          EXPECT_TRUE(!view || is_words(view->bytes(), view->range().offset));
          EXPECT_TRUE(!got || is_words(std::span(into).first(range.size), range.offset));
          EXPECT_TRUE(got || error_class(got) == ErrorClass::kClosed);
          if (!got || !view) break;
          ++reads;
        }
        ++ends;
      });
    }
    EXPECT_TRUE(wait_until([&] { return reads >= round * 10; }));
    own.close();
    threads.clear();
    EXPECT_EQ(ends, 4);
  }
}

TEST_P(Stress, sessions_open_and_close) {
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Random random(i);
      for (int round = 0; round < 15; ++round) {
        const Session own = open();
        std::vector<std::byte> into(kExtent.size);
        const Future<ByteCount> dropped = own.read(kExtent.offset, std::span(into));
        ASSERT_TRUE(reads_words(own, random.range(kExtent, 4 * kUnit)));
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Loads,
    Stress,
    ::testing::Values(
        Scenario{"one_slot", {.slots = 1, .slots_max = 1, .readahead = 1}},
        Scenario{"few_slots", {.slots = 3, .slots_max = 3, .readahead = 2}},
        Scenario{"growing", {.slots = 1, .slots_max = 9, .readahead = 1}},
        Scenario{.name = "cached",
                 .plan = {.slots = 3, .slots_max = 3, .readahead = 2},
                 .page_cache = PageCacheState::kWarm},
        Scenario{.name = "device_one_slot",
                 .plan = {.slots = 1, .slots_max = 1, .readahead = 1},
                 .is_device = true},
        Scenario{
            .name = "device_cache",
            .plan = {.slots = 4, .slots_max = 6, .readahead = 2, .eviction = EvictionPolicy::kLru},
            .is_device = true}),
    [](const ::testing::TestParamInfo<Scenario>& tested) { return tested.param.name; });

}  // namespace
}  // namespace forebay::read
