// SPDX-License-Identifier: Apache-2.0
// Staging memory: its bound, who waits for it and how that ends, and that no segment is ever lent
// twice.
#include "write/staging.hpp"

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
constexpr auto kAMinute = std::chrono::minutes(1);

std::shared_ptr<Staging> make(std::uint32_t segments, std::uint64_t ready_bytes = 0) {
  auto staging = Staging::make({.memory_bytes = segments * kSmallSegmentBytes,
                                .segment_bytes = kSmallSegmentBytes,
                                .ready_bytes = ready_bytes});
  EXPECT_TRUE(staging) << staging.error().message();
  return *staging;
}

template <class Condition>
bool becomes_true(const Condition& condition) {
  const Deadline deadline = shm::in_a_minute();
  while (!condition()) {
    if (SteadyClock::shared().now() > *deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Staging, segments_are_apart_and_fill_the_memory) {
  const auto staging = make(5);
  std::set<const std::byte*> places;
  for (int i = 0; i < 5; ++i) {
    const auto segment = staging->take(nanoseconds(0));
    ASSERT_TRUE(segment) << segment.error().message();
    const auto bytes = staging->segment(*segment);
    EXPECT_EQ(bytes.size(), kSmallSegmentBytes);
    std::memset(bytes.data(), i, bytes.size());
    places.insert(bytes.data());
    EXPECT_EQ(bytes.data(), staging->memory().data() + *segment * kSmallSegmentBytes);
  }
  EXPECT_EQ(places.size(), 5U);
  EXPECT_EQ(staging->memory().size(), 5 * kSmallSegmentBytes);
  EXPECT_EQ(staging->name().bytes, 5 * kSmallSegmentBytes);
}

TEST(Staging, sizes_that_cannot_work_are_refused) {
  for (const StagingOptions& options :
       {StagingOptions{.memory_bytes = 4096, .segment_bytes = 0},
        StagingOptions{.memory_bytes = 10'000, .segment_bytes = 5'000},
        StagingOptions{.memory_bytes = 4096, .segment_bytes = 8192},
        StagingOptions{.memory_bytes = std::uint64_t{1} << 46U, .segment_bytes = 4096}}) {
    EXPECT_EQ(error_class(Staging::make(options)), ErrorClass::kInvalidArgument);
  }
}

TEST(Staging, memory_is_rounded_down_to_whole_segments) {
  const auto staging = Staging::make(
      {.memory_bytes = 3 * kSmallSegmentBytes - 1, .segment_bytes = kSmallSegmentBytes});
  ASSERT_TRUE(staging);
  EXPECT_EQ((*staging)->counts().segments, 2U);
}

TEST(Staging, the_last_one_given_back_comes_first) {
  const auto staging = make(4);
  const auto first = staging->take(nanoseconds(0)).value();
  const auto second = staging->take(nanoseconds(0)).value();
  staging->give_back(first);
  staging->give_back(second);
  EXPECT_EQ(staging->take(nanoseconds(0)).value(), second);
  EXPECT_EQ(staging->take(nanoseconds(0)).value(), first);
}

/// Counts the lines that it receives.
class CountedLines final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view line) noexcept override {
    if (line.find("in use") != std::string_view::npos) ++lines;
  }
  std::atomic<int> lines{0};
};

TEST(Staging, long_wait_is_logged) {
  CountedLines log;
  const auto staging = Staging::make({.memory_bytes = kSmallSegmentBytes,
                                      .segment_bytes = kSmallSegmentBytes,
                                      .ready_bytes = 0,
                                      .log = &log,
                                      .quiet_wait = milliseconds(1)})
                           .value();
  const std::uint32_t held = staging->take(nanoseconds(0)).value();
  auto waiting = std::async(std::launch::async, [&] { return staging->take(kAMinute); });
  EXPECT_TRUE(becomes_true([&] { return log.lines >= 2; }));
  staging->give_back(held);
  EXPECT_TRUE(waiting.get());
}

TEST(Staging, used_up_it_fails_at_once_and_says_how_much_is_in_use) {
  const auto staging = make(3);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(staging->take(nanoseconds(0)));
  EXPECT_EQ(staging->try_take(), std::nullopt);
  const auto none = staging->take(nanoseconds(0));
  ASSERT_EQ(error_class(none), ErrorClass::kLimit);
  EXPECT_TRUE(mentions(none.error(), "all 3 segments, 196608 bytes, are in use"))
      << none.error().message();
  EXPECT_TRUE(mentions(none.error(), "when_full = \"wait\"")) << none.error().message();
  EXPECT_FALSE(mentions(none.error(), "storage")) << none.error().message();
  EXPECT_EQ(staging->counts().taken, 3U);
  EXPECT_EQ(staging->counts().waits, 0U);
}

TEST(Staging, used_up_it_is_waited_for_no_longer_than_allowed) {
  const auto staging = make(1);
  ASSERT_TRUE(staging->take(nanoseconds(0)));
  const TimePoint before = SteadyClock::shared().now();
  const auto none = staging->take(milliseconds(20));
  EXPECT_GE(SteadyClock::shared().now() - before, milliseconds(20));
  ASSERT_EQ(error_class(none), ErrorClass::kLimit);
  EXPECT_TRUE(mentions(none.error(), "20 ms")) << none.error().message();
  EXPECT_EQ(staging->counts().waits, 1U);
}

TEST(Staging, who_waits_goes_on_when_a_segment_comes_back) {
  const auto staging = make(1);
  const auto only = staging->take(nanoseconds(0)).value();
  auto waiting = std::async(std::launch::async, [&] { return staging->take(nanoseconds::max()); });
  ASSERT_TRUE(becomes_true([&] { return staging->counts().waits == 1; }));
  staging->give_back(only);
  const auto got = waiting.get();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, only);
}

TEST(Staging, cancelling_ends_waits_now_and_later) {
  const auto staging = make(2);
  const auto first = staging->take(nanoseconds(0)).value();
  ASSERT_TRUE(staging->take(nanoseconds(0)));
  std::vector<std::future<Result<std::uint32_t>>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(std::async(std::launch::async, [&] { return staging->take(kAMinute); }));
  ASSERT_TRUE(becomes_true([&] { return staging->counts().waits == 3; }));
  EXPECT_FALSE(staging->cancelled());
  staging->cancel(Error({.kind = ErrorClass::kClosed, .operation = "put", .cause = "first"}));
  staging->cancel(Error({.kind = ErrorClass::kIo, .operation = "put", .cause = "second"}));
  for (auto& one : waiting)
    EXPECT_EQ(error_class(one.get()), ErrorClass::kClosed);
  staging->give_back(first);
  EXPECT_EQ(error_class(staging->take(kAMinute)), ErrorClass::kClosed);
  EXPECT_EQ(staging->try_take(), std::nullopt);
  ASSERT_TRUE(staging->cancelled());
  EXPECT_EQ(staging->cancelled()->cause(), "first");
  EXPECT_EQ(staging->counts().taken, 1U);
}

TEST(Staging, who_found_none_is_told_once) {
  const auto staging = make(2);
  std::atomic<int> told{0};
  staging->on_free([&] { ++told; });
  const auto first = staging->try_take().value();
  const auto second = staging->try_take().value();
  staging->give_back(first);
  EXPECT_EQ(told, 0) << "nobody missed one";
  ASSERT_TRUE(staging->try_take());
  EXPECT_EQ(staging->try_take(), std::nullopt);
  staging->give_back(first);
  EXPECT_EQ(told, 1);
  staging->give_back(second);
  EXPECT_EQ(told, 1);
  staging->cancel(Error({.kind = ErrorClass::kClosed}));
  EXPECT_EQ(told, 2);
}

TEST(Staging, who_is_told_may_take_at_once) {
  const auto staging = make(1);
  std::optional<std::uint32_t> taken;
  staging->on_free([&] { taken = staging->try_take(); });
  const auto only = staging->try_take().value();
  ASSERT_EQ(staging->try_take(), std::nullopt);
  staging->give_back(only);
  EXPECT_EQ(taken, only);
  staging->on_free({});
}

TEST(Staging, memory_is_made_ready_by_chunks_as_it_is_needed) {
  constexpr std::uint32_t kSegments = 1024;  // 64 MiB
  const auto staging = make(kSegments);
  EXPECT_EQ(staging->counts().ready, 0U);
  ASSERT_TRUE(staging->take(nanoseconds(0)));
  const std::uint32_t chunk = staging->counts().ready;
  EXPECT_GE(chunk, 1U);
  EXPECT_LT(chunk, kSegments);
  for (std::uint32_t i = 1; i <= chunk; ++i)
    ASSERT_TRUE(i % 2 == 0 ? staging->try_take().has_value()
                           : staging->take(nanoseconds(0)).has_value());
  EXPECT_EQ(staging->counts().ready, 2 * chunk);
  EXPECT_EQ(staging->counts().taken_max, chunk + 1);
}

TEST(Staging, is_made_ready_ahead_of_use_as_far_as_asked_for) {
  constexpr std::uint32_t kSegments = 1024;
  const auto staging = make(kSegments, 20U << 20U);
  ASSERT_TRUE(becomes_true([&] { return staging->counts().ready == 512; }))
      << "two chunks of 16 MiB";
  const auto segment = staging->try_take();
  EXPECT_EQ(segment, 0U) << "the lowest of what nobody used";
  EXPECT_EQ(staging->counts().ready, 512U);
}

TEST(Staging, leaves_no_descriptor_when_it_ends_while_made_ready) {
  make(1024, all);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i)
    make(1024, all);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Staging, memory_that_the_machine_does_not_have_is_an_error_of_who_takes_it) {
  const std::uint64_t size = shm::more_than_the_machine_has();
  const auto staging =
      Staging::make({.memory_bytes = 2 * size, .segment_bytes = size, .ready_bytes = 0});
  ASSERT_TRUE(staging) << staging.error().message();
  const auto none = (*staging)->take(kAMinute);
  ASSERT_EQ(error_class(none), ErrorClass::kLimit);
  EXPECT_TRUE(mentions(none.error(), "the machine has")) << none.error().message();
  EXPECT_EQ((*staging)->try_take(), std::nullopt);
}

/// Its staging takes memory from `source`, and makes none ready ahead of need.
std::shared_ptr<Staging> borrow(const std::shared_ptr<shm::BufferSource>& source,
                                std::uint32_t segments) {
  auto staging = Staging::make({.memory_bytes = segments * kSmallSegmentBytes,
                                .segment_bytes = kSmallSegmentBytes,
                                .ready_bytes = 0,
                                .source = source});
  EXPECT_TRUE(staging) << staging.error().message();
  return *staging;
}

TEST(Staging, memory_that_was_ready_is_ready_for_the_next_one) {
  const auto source = shm::BufferSource::make(all);
  const std::byte* before = nullptr;
  {
    const auto first = borrow(source, 9);
    before = first->memory().data();
    first->give_back(first->take(nanoseconds(0)).value());
    ASSERT_EQ(first->counts().ready, 9U);
  }
  EXPECT_EQ(source->counts().lent_bytes, 0U);
  const auto second = borrow(source, 8);
  EXPECT_EQ(second->memory().data(), before);
  EXPECT_EQ(second->memory().size(), 8 * kSmallSegmentBytes) << "its bound, not what the other had";
  EXPECT_EQ(second->counts().ready, 8U);
  EXPECT_EQ(second->try_take(), 0U);
}

TEST(Staging, memory_that_somebody_may_still_read_goes_to_nobody) {
  const auto source = shm::BufferSource::make(all);
  ASSERT_TRUE(borrow(source, 2)->take(nanoseconds(0)));
  EXPECT_EQ(source->counts().cached_bytes, 0U);
  EXPECT_EQ(source->counts().lent_bytes, 0U);
}

TEST(Staging, memory_with_a_ready_part_is_made_ready_to_its_end_in_segments_of_another_size) {
  const auto source = shm::BufferSource::make(all);
  std::uint64_t ready_bytes = 0;
  {
    const auto first = borrow(source, 1536);
    first->give_back(first->take(nanoseconds(0)).value());
    ready_bytes = first->counts().ready * kSmallSegmentBytes;
  }
  const std::uint64_t segment_bytes = 3 * kSmallSegmentBytes;
  ASSERT_NE(ready_bytes % segment_bytes, 0U);
  for (const std::uint64_t wanted_bytes : {std::uint64_t{0}, std::uint64_t{all}}) {
    const auto next = Staging::make({.memory_bytes = 1536 * kSmallSegmentBytes,
                                     .segment_bytes = segment_bytes,
                                     .ready_bytes = wanted_bytes,
                                     .source = source})
                          .value();
    ASSERT_EQ(source->counts().made_count, 1U);
    const std::uint64_t ready = wanted_bytes > 0 ? 512 : ready_bytes / segment_bytes;
    EXPECT_TRUE(becomes_true([&] { return next->counts().ready == ready; })) << wanted_bytes;
  }
  EXPECT_EQ(source->counts().cached_bytes, 1536 * kSmallSegmentBytes);
}

TEST(Staging, memory_of_which_a_part_was_used_comes_again_with_that_part_ready) {
  const auto source = shm::BufferSource::make(all);
  std::uint32_t ready = 0;
  {
    const auto large = borrow(source, 1024);
    large->give_back(large->take(nanoseconds(0)).value());
    ready = large->counts().ready;
    ASSERT_LT(ready, 1024U);
  }
  EXPECT_EQ(source->counts().cached_bytes, ready * kSmallSegmentBytes);
  const auto again = borrow(source, 1024);
  EXPECT_EQ(again->counts().ready, ready);
  for (std::uint32_t i = 0; i < 1024; ++i)
    EXPECT_TRUE(again->try_take()) << i;
}

TEST(Staging, costs_addresses_alone_until_it_is_used) {
  const auto staging = Staging::make(
      {.memory_bytes = std::uint64_t{1} << 40U, .segment_bytes = 4U << 20U, .ready_bytes = 0});
  ASSERT_TRUE(staging) << staging.error().message();
  ASSERT_TRUE((*staging)->take(nanoseconds(0)));
  EXPECT_EQ((*staging)->counts().segments, 1U << 18U);
  EXPECT_LE((*staging)->counts().ready, 4U);
}

std::optional<std::uint32_t> take_somehow(Staging& staging, int round) {
  const auto at_once = round % 3 == 0 ? staging.try_take() : std::nullopt;
  if (at_once) return at_once;
  const auto waited = staging.take(kAMinute);
  return waited ? std::optional(*waited) : std::nullopt;
}

/// Marks what it takes, and looks whether the mark is still there before giving it back.
void hammer(Staging& staging, std::byte mark, std::atomic<int>& failures) {
  for (int i = 0; i < 2'000; ++i) {
    const auto segment = take_somehow(staging, i);
    if (!segment) {
      ++failures;
      return;
    }
    const auto bytes = staging.segment(*segment);
    bytes.front() = bytes.back() = mark;
    std::this_thread::yield();
    if (bytes.front() != mark || bytes.back() != mark) ++failures;
    staging.give_back(*segment);
  }
}

TEST(Staging, threads_take_and_give_back_without_ever_sharing) {
  const auto staging = make(3, all);
  std::atomic<int> told{0};
  staging->on_free([&] { ++told; });
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 1; i <= 6; ++i)
    threads.emplace_back([&, i] { hammer(*staging, static_cast<std::byte>(i), failures); });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(staging->counts().taken, 0U);
  EXPECT_LE(staging->counts().taken_max, 3U);
}

void take_until_cancelled(Staging& staging, std::atomic<int>& taken) {
  while (const auto segment = staging.take(kAMinute)) {
    ++taken;
    staging.give_back(*segment);
  }
}

TEST(Staging, a_thread_cancels_in_the_middle_and_all_others_end) {
  const auto staging = make(2, all);
  std::atomic<int> taken{0};
  std::vector<std::future<void>> threads;
  for (int i = 1; i <= 4; ++i) {
    threads.push_back(
        std::async(std::launch::async, [&] { take_until_cancelled(*staging, taken); }));
  }
  EXPECT_TRUE(becomes_true([&] { return taken > 100; }));
  staging->cancel(Error({.kind = ErrorClass::kClosed}));
  for (auto& thread : threads)
    EXPECT_EQ(thread.wait_for(kAMinute), std::future_status::ready);
}

}  // namespace
}  // namespace forebay::write
