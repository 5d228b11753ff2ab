// SPDX-License-Identifier: Apache-2.0
// Staging memory: its bound, waits for it and their end, and that no segment is in use twice.
#include "write/staging_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/testing.hpp"
#include "shm/testing.hpp"

namespace forebay::write {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::uint64_t kSmallSegmentBytes = 64U << 10U;
constexpr auto kTimeout = std::chrono::minutes(1);

std::shared_ptr<StagingPool> make(std::uint32_t segments, std::uint64_t ready_bytes = 0) {
  auto staging = StagingPool::create({.memory_bytes = segments * kSmallSegmentBytes,
                                      .segment_bytes = kSmallSegmentBytes,
                                      .prefault_bytes = ready_bytes});
  EXPECT_TRUE(staging) << staging.error().message();
  return *staging;
}

template <class Condition>
bool becomes_true(const Condition& condition) {
  const Deadline deadline = shm::test_deadline();
  while (!condition()) {
    if (SteadyClock::shared().now() > *deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(StagingPool, adjacent_segments_are_acquired_as_one_run) {
  const auto staging = make(7);
  EXPECT_EQ(staging->acquire(nanoseconds(0), 3).value(), 0U);
  EXPECT_EQ(staging->try_acquire(3), 3U);
  EXPECT_EQ(staging->segment(3, 3).size(), 3 * kSmallSegmentBytes);
  const auto none = staging->acquire(nanoseconds(0), 3);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorClass::kLimit);
  EXPECT_EQ(staging->try_acquire(), 6U);
  EXPECT_EQ(staging->counts().in_use_max, 7U);
  staging->release(0, 3);
  EXPECT_EQ(staging->try_acquire(2), 0U);
  EXPECT_EQ(staging->try_acquire(2), std::nullopt) << "one segment is free";
  EXPECT_EQ(staging->try_acquire(), 2U);
}

TEST(StagingPool, run_waits_until_adjacent_segments_are_free) {
  const auto staging = make(4);
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(staging->try_acquire());
  auto waiting = std::async(std::launch::async, [&] { return staging->acquire(kTimeout, 2); });
  EXPECT_TRUE(becomes_true([&] { return staging->counts().waits == 1; }));
  staging->release(1);
  staging->release(2);
  staging->release(3);
  EXPECT_EQ(waiting.get().value(), 2U);
  EXPECT_EQ(staging->counts().in_use, 3U);
}

TEST(StagingPool, segments_are_disjoint_and_fill_memory) {
  const auto staging = make(5);
  std::set<const std::byte*> places;
  for (int i = 0; i < 5; ++i) {
    const auto segment = staging->acquire(nanoseconds(0));
    ASSERT_TRUE(segment) << segment.error().message();
    const auto bytes = staging->segment(*segment);
    EXPECT_EQ(bytes.size(), kSmallSegmentBytes);
    std::memset(bytes.data(), i, bytes.size());
    places.insert(bytes.data());
    EXPECT_EQ(bytes.data(), staging->memory().data() + *segment * kSmallSegmentBytes);
  }
  EXPECT_EQ(places.size(), 5U);
  EXPECT_EQ(staging->memory().size(), 5 * kSmallSegmentBytes);
  EXPECT_EQ(staging->handle().bytes, 5 * kSmallSegmentBytes);
}

TEST(StagingPool, invalid_sizes_are_refused) {
  for (const StagingPoolOptions& options :
       {StagingPoolOptions{.memory_bytes = 4096, .segment_bytes = 0},
        StagingPoolOptions{.memory_bytes = 10'000, .segment_bytes = 5'000},
        StagingPoolOptions{.memory_bytes = 4096, .segment_bytes = 8192},
        StagingPoolOptions{.memory_bytes = std::uint64_t{1} << 46U, .segment_bytes = 4096}}) {
    EXPECT_EQ(error_class(StagingPool::create(options)), ErrorClass::kInvalidArgument);
  }
}

TEST(StagingPool, memory_is_rounded_down_to_whole_segments) {
  const auto staging = StagingPool::create(
      {.memory_bytes = 3 * kSmallSegmentBytes - 1, .segment_bytes = kSmallSegmentBytes});
  ASSERT_TRUE(staging);
  EXPECT_EQ((*staging)->counts().segments, 2U);
}

TEST(StagingPool, last_released_segment_is_acquired_first) {
  const auto staging = make(4);
  const auto first = staging->acquire(nanoseconds(0)).value();
  const auto second = staging->acquire(nanoseconds(0)).value();
  staging->release(first);
  staging->release(second);
  EXPECT_EQ(staging->acquire(nanoseconds(0)).value(), second);
  EXPECT_EQ(staging->acquire(nanoseconds(0)).value(), first);
}

/// Counts the lines that it receives.
class LogCounter final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view line) noexcept override {
    if (line.find("in use") != std::string_view::npos) ++lines;
  }
  std::atomic<int> lines{0};
};

/// A pool of one segment that logs waits every millisecond.
auto one_segment_with_log(LogSink& log) {
  return StagingPool::create({.memory_bytes = kSmallSegmentBytes,
                              .segment_bytes = kSmallSegmentBytes,
                              .prefault_bytes = 0,
                              .log = &log,
                              .log_interval = milliseconds(1)})
      .value();
}

TEST(StagingPool, long_wait_is_logged) {
  LogCounter log;
  const auto staging = one_segment_with_log(log);
  const std::uint32_t held = staging->acquire(nanoseconds(0)).value();
  auto waiting = std::async(std::launch::async, [&] { return staging->acquire(kTimeout); });
  EXPECT_TRUE(becomes_true([&] { return log.lines >= 2; }));
  staging->release(held);
  EXPECT_TRUE(waiting.get());
}

/// Releases a segment on another thread during its first line.
class ReleasingLog final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view /*line*/) noexcept override {
    if (release_.valid()) return;
    release_ = std::async(std::launch::async, [this] { release(); });
    is_released = release_.wait_for(std::chrono::seconds(2)) == std::future_status::ready;
  }

  std::function<void()> release;
  bool is_released = false;

 private:
  std::future<void> release_;
};

// The agent releases segments: it waited for the log sink of the application.
TEST(StagingPool, release_does_not_wait_for_log_sink) {
  ReleasingLog log;
  const auto staging = one_segment_with_log(log);
  log.release = [&, held = staging->acquire(nanoseconds(0)).value()] { staging->release(held); };
  EXPECT_TRUE(staging->acquire(kTimeout));
  EXPECT_TRUE(log.is_released);
}

TEST(StagingPool, exhausted_pool_fails_at_once_with_usage) {
  const auto staging = make(3);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(staging->acquire(nanoseconds(0)));
  EXPECT_EQ(staging->try_acquire(), std::nullopt);
  const auto none = staging->acquire(nanoseconds(0));
  ASSERT_EQ(error_class(none), ErrorClass::kLimit);
  EXPECT_TRUE(message_contains(none.error(), "all 3 segments, 196608 bytes, are in use"))
      << none.error().message();
  EXPECT_TRUE(message_contains(none.error(), "staging_full_policy = \"block\""))
      << none.error().message();
  EXPECT_FALSE(message_contains(none.error(), "storage")) << none.error().message();
  EXPECT_EQ(staging->counts().in_use, 3U);
  EXPECT_EQ(staging->counts().waits, 0U);
}

TEST(StagingPool, exhausted_pool_waits_no_longer_than_allowed) {
  const auto staging = make(1);
  ASSERT_TRUE(staging->acquire(nanoseconds(0)));
  const TimePoint before = SteadyClock::shared().now();
  const auto none = staging->acquire(milliseconds(20));
  EXPECT_GE(SteadyClock::shared().now() - before, milliseconds(20));
  ASSERT_EQ(error_class(none), ErrorClass::kLimit);
  EXPECT_TRUE(message_contains(none.error(), "20 ms")) << none.error().message();
  EXPECT_EQ(staging->counts().waits, 1U);
}

TEST(StagingPool, release_wakes_waiter) {
  const auto staging = make(1);
  const auto only = staging->acquire(nanoseconds(0)).value();
  auto waiting =
      std::async(std::launch::async, [&] { return staging->acquire(nanoseconds::max()); });
  ASSERT_TRUE(becomes_true([&] { return staging->counts().waits == 1; }));
  staging->release(only);
  const auto got = waiting.get();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, only);
}

TEST(StagingPool, cancel_ends_waits_now_and_later) {
  const auto staging = make(2);
  const auto first = staging->acquire(nanoseconds(0)).value();
  ASSERT_TRUE(staging->acquire(nanoseconds(0)));
  std::vector<std::future<Result<std::uint32_t>>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(std::async(std::launch::async, [&] { return staging->acquire(kTimeout); }));
  ASSERT_TRUE(becomes_true([&] { return staging->counts().waits == 3; }));
  EXPECT_FALSE(staging->cancel_error());
  staging->cancel(Error({.kind = ErrorClass::kClosed, .operation = "put", .cause = "first"}));
  staging->cancel(Error({.kind = ErrorClass::kIo, .operation = "put", .cause = "second"}));
  for (auto& one : waiting)
    EXPECT_EQ(error_class(one.get()), ErrorClass::kClosed);
  staging->release(first);
  EXPECT_EQ(error_class(staging->acquire(kTimeout)), ErrorClass::kClosed);
  EXPECT_EQ(staging->try_acquire(), std::nullopt);
  ASSERT_TRUE(staging->cancel_error());
  EXPECT_EQ(staging->cancel_error()->cause(), "first");
  EXPECT_EQ(staging->counts().in_use, 1U);
}

TEST(StagingPool, free_callback_runs_once_after_failed_acquire) {
  const auto staging = make(2);
  std::atomic<int> notifications{0};
  staging->set_free_callback([&] { ++notifications; });
  const auto first = staging->try_acquire().value();
  const auto second = staging->try_acquire().value();
  staging->release(first);
  EXPECT_EQ(notifications, 0) << "no call failed before";
  ASSERT_TRUE(staging->try_acquire());
  EXPECT_EQ(staging->try_acquire(), std::nullopt);
  staging->release(first);
  EXPECT_EQ(notifications, 1);
  staging->release(second);
  EXPECT_EQ(notifications, 1);
  staging->cancel(Error({.kind = ErrorClass::kClosed}));
  EXPECT_EQ(notifications, 2);
}

TEST(StagingPool, free_callback_may_acquire_at_once) {
  const auto staging = make(1);
  std::optional<std::uint32_t> taken;
  staging->set_free_callback([&] { taken = staging->try_acquire(); });
  const auto only = staging->try_acquire().value();
  ASSERT_EQ(staging->try_acquire(), std::nullopt);
  staging->release(only);
  EXPECT_EQ(taken, only);
  staging->set_free_callback({});
}

TEST(StagingPool, memory_is_prefaulted_by_chunks_on_demand) {
  constexpr std::uint32_t kSegments = 1024;  // 64 MiB
  const auto staging = make(kSegments);
  EXPECT_EQ(staging->counts().prefaulted, 0U);
  ASSERT_TRUE(staging->acquire(nanoseconds(0)));
  const std::uint32_t chunk = staging->counts().prefaulted;
  EXPECT_GE(chunk, 1U);
  EXPECT_LT(chunk, kSegments);
  for (std::uint32_t i = 1; i <= chunk; ++i)
    ASSERT_TRUE(i % 2 == 0 ? staging->try_acquire().has_value()
                           : staging->acquire(nanoseconds(0)).has_value());
  EXPECT_EQ(staging->counts().prefaulted, 2 * chunk);
  EXPECT_EQ(staging->counts().in_use_max, chunk + 1);
}

TEST(StagingPool, requested_bytes_are_prefaulted_ahead) {
  constexpr std::uint32_t kSegments = 1024;
  const auto staging = make(kSegments, 20U << 20U);
  ASSERT_TRUE(becomes_true([&] { return staging->counts().prefaulted == 512; }))
      << "two chunks of 16 MiB";
  const auto segment = staging->try_acquire();
  EXPECT_EQ(segment, 0U) << "the lowest unused segment";
  EXPECT_EQ(staging->counts().prefaulted, 512U);
}

TEST(StagingPool, destruction_during_prefault_leaves_no_descriptor) {
  make(1024, kAll);
  const std::size_t before = open_descriptor_count();
  for (int i = 0; i < 20; ++i)
    make(1024, kAll);
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST(StagingPool, missing_machine_memory_fails_acquire) {
  const std::uint64_t size = shm::more_than_physical_memory();
  const auto staging =
      StagingPool::create({.memory_bytes = 2 * size, .segment_bytes = size, .prefault_bytes = 0});
  ASSERT_TRUE(staging) << staging.error().message();
  const auto none = (*staging)->acquire(kTimeout);
  ASSERT_EQ(error_class(none), ErrorClass::kLimit);
  EXPECT_TRUE(message_contains(none.error(), "the machine has")) << none.error().message();
  EXPECT_EQ((*staging)->try_acquire(), std::nullopt);
}

/// A pool that takes its memory from `source`, and prefaults none ahead of need.
std::shared_ptr<StagingPool> borrow(const std::shared_ptr<shm::BufferAllocator>& source,
                                    std::uint32_t segments) {
  auto staging = StagingPool::create({.memory_bytes = segments * kSmallSegmentBytes,
                                      .segment_bytes = kSmallSegmentBytes,
                                      .prefault_bytes = 0,
                                      .source = source});
  EXPECT_TRUE(staging) << staging.error().message();
  return *staging;
}

TEST(StagingPool, prefaulted_memory_is_reused_by_next_pool) {
  const auto source = shm::BufferAllocator::make(kAll);
  const std::byte* before = nullptr;
  {
    const auto first = borrow(source, 9);
    before = first->memory().data();
    first->release(first->acquire(nanoseconds(0)).value());
    ASSERT_EQ(first->counts().prefaulted, 9U);
  }
  EXPECT_EQ(source->counts().allocated_bytes, 0U);
  const auto second = borrow(source, 8);
  EXPECT_EQ(second->memory().data(), before);
  EXPECT_EQ(second->memory().size(), 8 * kSmallSegmentBytes)
      << "its own bound, not that of the other pool";
  EXPECT_EQ(second->counts().prefaulted, 8U);
  EXPECT_EQ(second->try_acquire(), 0U);
}

TEST(StagingPool, memory_with_unreleased_segment_is_not_reused) {
  const auto source = shm::BufferAllocator::make(kAll);
  ASSERT_TRUE(borrow(source, 2)->acquire(nanoseconds(0)));
  EXPECT_EQ(source->counts().cached_bytes, 0U);
  EXPECT_EQ(source->counts().allocated_bytes, 0U);
}

TEST(StagingPool, partly_prefaulted_memory_is_completed_for_other_segment_size) {
  const auto source = shm::BufferAllocator::make(kAll);
  std::uint64_t ready_bytes = 0;
  {
    const auto first = borrow(source, 1536);
    first->release(first->acquire(nanoseconds(0)).value());
    ready_bytes = first->counts().prefaulted * kSmallSegmentBytes;
  }
  const std::uint64_t segment_bytes = 3 * kSmallSegmentBytes;
  ASSERT_NE(ready_bytes % segment_bytes, 0U);
  for (const std::uint64_t requested_bytes : {std::uint64_t{0}, std::uint64_t{kAll}}) {
    const auto next = StagingPool::create({.memory_bytes = 1536 * kSmallSegmentBytes,
                                           .segment_bytes = segment_bytes,
                                           .prefault_bytes = requested_bytes,
                                           .source = source})
                          .value();
    ASSERT_EQ(source->counts().created_count, 1U);
    const std::uint64_t ready = requested_bytes > 0 ? 512 : ready_bytes / segment_bytes;
    EXPECT_TRUE(becomes_true([&] { return next->counts().prefaulted == ready; }))
        << requested_bytes;
  }
  EXPECT_EQ(source->counts().cached_bytes, 1536 * kSmallSegmentBytes);
}

TEST(StagingPool, partly_used_memory_is_reused_with_prefaulted_part) {
  const auto source = shm::BufferAllocator::make(kAll);
  std::uint32_t ready = 0;
  {
    const auto large = borrow(source, 1024);
    large->release(large->acquire(nanoseconds(0)).value());
    ready = large->counts().prefaulted;
    ASSERT_LT(ready, 1024U);
  }
  EXPECT_EQ(source->counts().cached_bytes, ready * kSmallSegmentBytes);
  const auto again = borrow(source, 1024);
  EXPECT_EQ(again->counts().prefaulted, ready);
  for (std::uint32_t i = 0; i < 1024; ++i)
    EXPECT_TRUE(again->try_acquire()) << i;
}

TEST(StagingPool, unused_pool_costs_only_addresses) {
  const auto staging = StagingPool::create(
      {.memory_bytes = std::uint64_t{1} << 40U, .segment_bytes = 4U << 20U, .prefault_bytes = 0});
  ASSERT_TRUE(staging) << staging.error().message();
  ASSERT_TRUE((*staging)->acquire(nanoseconds(0)));
  EXPECT_EQ((*staging)->counts().segments, 1U << 18U);
  EXPECT_LE((*staging)->counts().prefaulted, 4U);
}

std::optional<std::uint32_t> acquire_any(StagingPool& staging, int round) {
  const auto at_once = round % 3 == 0 ? staging.try_acquire() : std::nullopt;
  if (at_once) return at_once;
  const auto waited = staging.acquire(kTimeout);
  return waited ? std::optional(*waited) : std::nullopt;
}

/// Marks the segment that it acquires, and checks the mark before it releases it.
void stress(StagingPool& staging, std::byte mark, std::atomic<int>& failures) {
  for (int i = 0; i < 2'000; ++i) {
    const auto segment = acquire_any(staging, i);
    if (!segment) {
      ++failures;
      return;
    }
    const auto bytes = staging.segment(*segment);
    bytes.front() = bytes.back() = mark;
    std::this_thread::yield();
    if (bytes.front() != mark || bytes.back() != mark) ++failures;
    staging.release(*segment);
  }
}

TEST(StagingPool, threads_never_share_a_segment) {
  const auto staging = make(3, kAll);
  std::atomic<int> notifications{0};
  staging->set_free_callback([&] { ++notifications; });
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 1; i <= 6; ++i)
    threads.emplace_back([&, i] { stress(*staging, static_cast<std::byte>(i), failures); });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(staging->counts().in_use, 0U);
  EXPECT_LE(staging->counts().in_use_max, 3U);
}

void acquire_until_cancelled(StagingPool& staging, std::atomic<int>& taken) {
  while (const auto segment = staging.acquire(kTimeout)) {
    ++taken;
    staging.release(*segment);
  }
}

TEST(StagingPool, cancel_ends_all_waiting_threads) {
  const auto staging = make(2, kAll);
  std::atomic<int> taken{0};
  std::vector<std::future<void>> threads;
  for (int i = 1; i <= 4; ++i) {
    threads.push_back(
        std::async(std::launch::async, [&] { acquire_until_cancelled(*staging, taken); }));
  }
  EXPECT_TRUE(becomes_true([&] { return taken > 100; }));
  staging->cancel(Error({.kind = ErrorClass::kClosed}));
  for (auto& thread : threads)
    EXPECT_EQ(thread.wait_for(kTimeout), std::future_status::ready);
}

}  // namespace
}  // namespace forebay::write
