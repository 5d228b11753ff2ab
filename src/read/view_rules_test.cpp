// SPDX-License-Identifier: Apache-2.0
// The rules of views, docs/guides/views.md: whatever a task holds, or requests and never takes, no
// other task waits for it. Each test names its rule.
#include <forebay/session.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::read {
namespace {

constexpr std::uint64_t kSplinters = 24;
constexpr ByteRange kAll{0, kSplinters* kUnit};
constexpr std::uint64_t kSlots = 4;

/// What may read: tasks on their own threads (page cache), agents and waiting threads, or agents
/// alone (a device).
enum class Storage : std::uint8_t { kCached, kBuffered, kDevice };

/// Tasks that each read everything, in different ways, and are all finished after some time.
class Readers {
 public:
  explicit Readers(const Session& session) : session_(session) {}

  /// True if all of them got all bytes, the right ones, in time.
  ::testing::AssertionResult all_read(EventLoop& loop) {
    await_all(loop);
    await_all(executor_);
    continue_all(0);
    watch();
    request_views();
    {
      std::jthread blocked([this] { block(); });
      std::jthread polling([this] { poll(); });
      if (!run_until(loop, [this] { return (take_watched(), running_ == 0); }))
        return ::testing::AssertionFailure() << running_ << " of them hang";
    }
    if (wrong_ > 0) return ::testing::AssertionFailure() << wrong_ << " views were wrong";
    return ::testing::AssertionSuccess();
  }

 private:
  void check(const Result<View>& view, std::uint64_t splinter) {
    if (!view || !is_words(view->bytes(), splinter * kUnit)) ++wrong_;
  }
  void block() {
    for (std::uint64_t i = 0; i < kSplinters; ++i)
      check(result_of(session_.view({i * kUnit, kUnit})), i);
    if (!reads_words(session_, {7, kAll.size - 7})) ++wrong_;
    --running_;
  }
  void poll() {
    for (std::uint64_t i = kSplinters; i-- > 0;) {
      Future<View> view = session_.view({i * kUnit, kUnit});
      if (!wait_until([&] { return view.poll(); })) ++wrong_;
      check(view.wait(), i);
    }
    --running_;
  }
  Detached await_all(Executor& executor) {
    for (std::uint64_t i = 0; i < kSplinters; ++i)
      check(co_await session_.view({i * kUnit, kUnit}).on(executor), i);
    std::vector<std::byte> into(3 * kUnit);
    const auto got = co_await session_.read(kUnit / 2, std::span(into)).on(executor);
    if (!got || !is_words(into, kUnit / 2)) ++wrong_;
    --running_;
  }
  void continue_all(std::uint64_t splinter) {
    session_.view({splinter * kUnit, kUnit})
        .then(executor_, [this, splinter](const Result<View>& view) {
          check(view, splinter);
          if (splinter + 1 < kSplinters) return continue_all(splinter + 1);
          --running_;
        });
  }
  void watch() {
    watched_.emplace(session_.view({watched_splinter_ * kUnit, kUnit}));
    descriptor_ = *watched_->event_fd();
  }
  void take_watched() {
    pollfd entry{descriptor_, POLLIN, 0};
    if (!watched_ || ::poll(&entry, 1, 0) != 1 || !watched_->poll()) return;
    check(watched_->wait(), watched_splinter_);
    watched_.reset();
    if (++watched_splinter_ < kSplinters) return watch();
    --running_;
  }
  /// Requests and never looks.
  void request_views() {
    for (std::uint64_t i = 0; i < kSplinters; ++i)
      requested_.push_back(session_.view({i * kUnit, kUnit}));
  }

  const Session& session_;
  ThreadExecutor executor_;
  std::atomic<int> running_{6};
  std::atomic<int> wrong_{0};
  std::optional<Future<View>> watched_;
  std::uint64_t watched_splinter_ = 0;
  int descriptor_ = -1;
  std::vector<Future<View>> requested_;
};

class ViewRules : public ::testing::TestWithParam<Storage> {
 protected:
  Session open(const SmallPlan& plan) {
    std::shared_ptr<storage::File> file = word_file(kAll.size);
    if (GetParam() == Storage::kDevice) file = std::make_shared<GatedFile>(kAll.size);
    return fixture.open(file, kAll, plan);
  }
  View expect_view(const Session& session, ByteRange range) {
    auto view = result_of(session.view(range));
    EXPECT_TRUE(view) << view.error().message();
    return view ? std::move(*view) : View();
  }
  std::vector<View> hold_views(const Session& session, std::uint64_t count) {
    std::vector<View> held;
    for (std::uint64_t i = 0; i < count; ++i)
      held.push_back(expect_view(session, {i * kUnit, kUnit}));
    return held;
  }

  SessionFixture fixture{GetParam() == Storage::kCached ? PageCacheState::kWarm
                                                        : PageCacheState::kCold};
};

TEST_P(ViewRules, views_held_without_limit_block_no_task) {
  for (const std::uint64_t slots : {std::uint64_t{1}, kSlots}) {
    const Session session = open({.slots = slots, .slots_max = slots, .readahead = 1});
    const std::vector<View> held = hold_views(session, slots);
    EXPECT_TRUE(Readers(session).all_read(fixture.loop()));
    const SessionReport report = session.report();
    EXPECT_GT(report.private_copies, 0U);
    EXPECT_GT(report.private_copy_bytes, kAll.size);
    EXPECT_LE(report.window_bytes, slots * kUnit);
    // Held bytes do not move and do not change.
    for (const View& view : held) {
      EXPECT_FALSE(view.is_copy());
      EXPECT_TRUE(is_words(view.bytes(), view.range().offset));
    }
  }
}

TEST_P(ViewRules, one_free_slot_is_enough_for_all_readers) {
  const Session session = open({.slots = kSlots, .slots_max = kSlots, .readahead = 1});
  const std::vector<View> held = hold_views(session, kSlots - 1);
  EXPECT_TRUE(Readers(session).all_read(fixture.loop()));
  for (const View& view : held)
    EXPECT_TRUE(is_words(view.bytes(), view.range().offset));
}

TEST_P(ViewRules, tasks_holding_each_others_splinters_do_not_wait) {
  for (const std::uint64_t slots : {1, 2, 3}) {
    const Session session = open({.slots = slots, .slots_max = slots});
    const View left = expect_view(session, {0, kUnit});
    const View right = expect_view(session, {10 * kUnit, kUnit});
    std::jthread other([&] {
      const View wanted = expect_view(session, {kUnit / 2, kUnit});
      EXPECT_TRUE(is_words(wanted.bytes(), kUnit / 2));
      EXPECT_TRUE(reads_words(session, {0, 3 * kUnit}));
    });
    const View wanted = expect_view(session, {9 * kUnit + 5, kUnit});
    EXPECT_TRUE(is_words(wanted.bytes(), 9 * kUnit + 5));
    EXPECT_TRUE(reads_words(session, {9 * kUnit, 3 * kUnit}));
    other.join();
    EXPECT_TRUE(is_words(left.bytes(), 0));
    EXPECT_TRUE(is_words(right.bytes(), 10 * kUnit));
  }
}

// Each task needs a run of splinters of which another task has pinned some.
TEST_P(ViewRules, overlapping_views_of_window_size_do_not_wait) {
  const Session session = open({.slots = kSlots, .slots_max = kSlots});
  std::vector<std::jthread> tasks;
  for (std::uint64_t task = 0; task < 4; ++task) {
    tasks.emplace_back([&, task] {
      for (std::uint64_t round = 0; round < 50; ++round) {
        const std::uint64_t at = (task * 2 + round) % (kSplinters - kSlots) * kUnit;
        const View view = expect_view(session, {at, kSlots * kUnit});
        ASSERT_TRUE(is_words(view.bytes(), at));
      }
    });
  }
}

TEST_P(ViewRules, futures_that_are_not_taken_block_no_task) {
  const Session session = open({.slots = kSlots, .slots_max = kSlots, .readahead = 1});
  std::vector<Future<View>> never_looked_at;
  std::vector<Future<View>> polled_once;
  std::vector<Future<View>> timed_out;
  std::vector<Future<View>> watched;
  for (std::uint64_t i = 0; i < kSplinters; ++i) {
    const ByteRange range{i * kUnit, kUnit};
    never_looked_at.push_back(session.view(range));
    polled_once.push_back(session.view(range));
    polled_once.back().poll();
    timed_out.push_back(session.view(range));
    timed_out.back().wait_for(std::chrono::nanoseconds(0));
    watched.push_back(session.view(range));
    ASSERT_TRUE(watched.back().event_fd());
  }
  EXPECT_TRUE(Readers(session).all_read(fixture.loop()));
}

TEST_P(ViewRules, futures_of_runs_that_are_not_taken_block_no_task) {
  const Session session = open({.slots = kSlots, .slots_max = kSlots, .readahead = 1});
  std::vector<Future<View>> runs;
  for (std::uint64_t i = 0; i + 3 <= kSplinters; ++i) {
    // Pins resident splinters, waits for the rest.
    runs.push_back(session.view({i * kUnit, 3 * kUnit}));
    ASSERT_TRUE(runs.back().event_fd());
  }
  EXPECT_TRUE(Readers(session).all_read(fixture.loop()));
}

Detached await_one(Executor& executor, const Session& session, ByteRange range, int& done) {
  const Result<View> view = co_await session.view(range).on(executor);
  EXPECT_TRUE(view && is_words(view->bytes(), range.offset));
  ++done;
}

// Their waiters are signaled, and they do not take their bytes.
TEST_P(ViewRules, coroutines_on_a_stalled_executor_block_no_task) {
  for (const std::uint64_t slots_max : {kSlots, 2 * kSlots}) {
    const Session session = open({.slots = kSlots, .slots_max = slots_max});
    EventLoop stalled;
    int done = 0;
    for (std::uint64_t i = 0; i < kSplinters; ++i)
      await_one(stalled, session, {i * kUnit, kUnit}, done);
    EXPECT_TRUE(Readers(session).all_read(fixture.loop()));
    EXPECT_TRUE(run_until(stalled, [&] { return done == kSplinters; }))
        << "the coroutines must finish later";
  }
}

TEST_P(ViewRules, private_copy_is_reported_and_counted) {
  const Session session = open({.slots = 2, .slots_max = 2});
  const std::vector<View> held = hold_views(session, 2);
  const View copy = expect_view(session, {5 * kUnit + 10, 100});
  EXPECT_TRUE(copy.is_copy());
  EXPECT_TRUE(is_words(copy.bytes(), 5 * kUnit + 10));
  EXPECT_EQ(session.report().private_copies, 1U);
  EXPECT_EQ(session.report().private_copy_bytes, 100U);
}

TEST_P(ViewRules, window_is_used_again_after_views_are_released) {
  const Session session = open({.slots = 2, .slots_max = 2});
  std::vector<View> held = hold_views(session, 2);
  EXPECT_TRUE(expect_view(session, {5 * kUnit, 10}).is_copy());
  held.clear();
  EXPECT_FALSE(expect_view(session, {6 * kUnit, 10}).is_copy());
}

TEST_P(ViewRules, dropped_request_leaves_no_copy_to_the_next_one) {
  const Session session = open({.slots = 2, .slots_max = 2});
  std::vector<View> held = hold_views(session, 2);
  {
    Future<View> dropped = session.view({5 * kUnit, 10});
    pollfd entry{*dropped.event_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, std::chrono::milliseconds(kTestTimeout).count()), 1)
        << "all memory is pinned: a private copy is possible";
  }
  held.clear();
  EXPECT_FALSE(expect_view(session, {5 * kUnit, 10}).is_copy());
}

TEST_P(ViewRules, release_resumes_requests_that_wait_for_memory) {
  // The other slot is loading, so the request waits for more than a View.
  const Session session = open({.slots = 2, .slots_max = 2, .readahead = 2});
  for (std::uint64_t i = 0; i + 1 < kSplinters; ++i) {
    const View first = expect_view(session, {i * kUnit, kUnit});
    const View second = expect_view(session, {(i + 1) * kUnit, kUnit});
    ASSERT_TRUE(is_words(first.bytes(), i * kUnit));
    ASSERT_TRUE(is_words(second.bytes(), (i + 1) * kUnit));
  }
}

TEST_P(ViewRules, views_outlive_the_session_and_its_handles) {
  std::vector<View> held;
  {
    const Session session = open({.slots = 2, .slots_max = 2});
    held = hold_views(session, 5);  // three of them are copies
    session.close();
  }
  const Session next = open({.slots = 2, .slots_max = 2});
  EXPECT_TRUE(reads_words(next, kAll));
  for (const View& view : held)
    EXPECT_TRUE(is_words(view.bytes(), view.range().offset));
}

TEST_P(ViewRules, views_may_be_released_on_any_thread_in_any_order) {
  const Session session = open({.slots = kSlots, .slots_max = kSlots, .readahead = 2});
  Random random;
  for (int round = 0; round < 30; ++round) {
    std::vector<View> held = hold_views(session, kSlots + 2);
    std::vector<std::jthread> threads;
    while (!held.empty()) {
      std::swap(held[random.uniform(held.size())], held.back());
      threads.emplace_back([view = std::move(held.back())]() mutable { view.release(); });
      held.pop_back();
    }
    threads.clear();
    ASSERT_FALSE(expect_view(session, {random.uniform(kSplinters) * kUnit, 10}).is_copy());
  }
}

TEST_P(ViewRules, moved_view_is_released_once) {
  const Session session = open({.slots = 1, .slots_max = 1});
  View first = expect_view(session, {0, kUnit});
  View second = std::move(first);
  EXPECT_TRUE(is_words(second.bytes(), 0));
  first = std::move(second);
  first = expect_view(session, {10, 20});  // the old view is released, the splinter stays pinned
  EXPECT_TRUE(is_words(first.bytes(), 10));
  first.release();
  first.release();
  EXPECT_TRUE(first.bytes().empty());
  EXPECT_FALSE(expect_view(session, {kUnit, kUnit}).is_copy());
}

TEST_P(ViewRules, views_beyond_the_maximum_pin_count_are_copies) {
  const Session session = open({.slots = 2, .slots_max = 2});
  std::vector<View> held;
  for (std::uint32_t i = 0; i < shm::SlotRefCount::kPinsMax; ++i) {
    held.push_back(expect_view(session, {i % kUnit, 1}));
    ASSERT_FALSE(held.back().is_copy());
  }
  const View copy = expect_view(session, {100, 50});
  EXPECT_TRUE(copy.is_copy());
  EXPECT_TRUE(is_words(copy.bytes(), 100));
  EXPECT_TRUE(reads_words(session, {50, 2 * kUnit}));  // pins for a moment, or copies too
  held.pop_back();
  EXPECT_FALSE(expect_view(session, {100, 50}).is_copy());
}

std::string name_of_storage(const ::testing::TestParamInfo<Storage>& tested) {
  if (tested.param == Storage::kCached) return "cached";
  return tested.param == Storage::kBuffered ? "buffered" : "device";
}

INSTANTIATE_TEST_SUITE_P(Storages,
                         ViewRules,
                         ::testing::Values(Storage::kCached, Storage::kBuffered, Storage::kDevice),
                         name_of_storage);

}  // namespace
}  // namespace forebay::read
