// SPDX-License-Identifier: Apache-2.0
// Watching, as part of the conformance suite: an owner that waits for storage also receives events
// of a descriptor, in the same call, without cost while it is idle.
#include <array>
#include <atomic>
#include <ctime>
#include <thread>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "storage/conformance.hpp"

namespace forebay::storage {
namespace {

/// An eventfd: a descriptor that is readable while its counter is not 0.
class TestEventFd {
 public:
  TestEventFd() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int descriptor() const { return descriptor_.get(); }
  void notify() const { ::eventfd_write(descriptor_.get(), 1); }
  std::uint64_t consume() const {
    eventfd_t count = 0;
    return ::eventfd_read(descriptor_.get(), &count) == 0 ? count : 0;
  }

 private:
  Descriptor descriptor_;
};

std::chrono::nanoseconds thread_cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

class WatchTest : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(engine().watch(event_fd_.descriptor()));
  }

  /// Waits, with nothing in flight, up to the test timeout; true if the descriptor was reported.
  bool wait_for_watch() {
    std::array<Completion, 1> completions;
    const TimePoint deadline = SteadyClock::shared().now() + kTestTimeout;
    EXPECT_EQ(engine().wait(completions, deadline), 0U);
    return engine().consume_watch_event();
  }

  /// The same without blocking.
  bool poll_watch() {
    std::array<Completion, 1> completions;
    EXPECT_EQ(engine().wait(completions, kDoNotBlock), 0U);
    return engine().consume_watch_event();
  }

  /// Processor time of a wait of this length without events.
  std::chrono::nanoseconds idle_cpu_time(std::chrono::milliseconds idle) {
    std::array<Completion, 1> completions;
    const auto before = thread_cpu_time();
    EXPECT_EQ(engine().wait(completions, SteadyClock::shared().now() + idle), 0U);
    const auto after = thread_cpu_time();
    EXPECT_FALSE(engine().consume_watch_event());
    return after - before;
  }

  TestEventFd event_fd_;
};

TEST_P(WatchTest, descriptor_that_is_readable_already_ends_the_wait) {
  EXPECT_FALSE(engine().consume_watch_event());
  event_fd_.notify();
  EXPECT_TRUE(wait_for_watch());
  EXPECT_FALSE(engine().consume_watch_event()) << "reported once";
}

TEST_P(WatchTest, descriptor_that_becomes_readable_ends_the_wait) {
  for (int round = 0; round < 50; ++round) {
    std::jthread other([this] { event_fd_.notify(); });
    EXPECT_TRUE(wait_for_watch());
    EXPECT_EQ(event_fd_.consume(), 1U);
  }
  EXPECT_FALSE(poll_watch());
}

TEST_P(WatchTest, descriptor_left_readable_ends_every_wait) {
  event_fd_.notify();
  for (int round = 0; round < 5; ++round)
    EXPECT_TRUE(wait_for_watch());
  EXPECT_TRUE(poll_watch());
  event_fd_.consume();
  poll_watch();  // may report the earlier state
  EXPECT_FALSE(poll_watch());
  event_fd_.notify();
  EXPECT_TRUE(poll_watch());
}

TEST_P(WatchTest, watch_event_is_kept_until_consumed) {
  event_fd_.notify();
  std::array<Completion, 1> completions;
  EXPECT_EQ(engine().wait(completions, std::nullopt), 0U);
  event_fd_.consume();
  EXPECT_EQ(engine().wait(completions, kDoNotBlock), 0U);
  EXPECT_TRUE(engine().consume_watch_event());
}

TEST_P(WatchTest, idle_watching_takes_no_processor_time) {
  constexpr auto kIdle = std::chrono::milliseconds(200);
  // Polling would take almost all of it. Kernels count in ticks of up to 10 ms.
  constexpr auto kNothing = kIdle / 4;
  EXPECT_LT(idle_cpu_time(kIdle), kNothing);
  event_fd_.notify();
  EXPECT_TRUE(wait_for_watch());
  event_fd_.consume();
  poll_watch();
  EXPECT_LT(idle_cpu_time(kIdle), kNothing) << "after an event";
}

TEST_P(WatchTest, deadline_and_wake_work_with_a_watch) {
  std::array<Completion, 1> completions;
  const TimePoint deadline = SteadyClock::shared().now() + std::chrono::milliseconds(3);
  EXPECT_EQ(engine().wait(completions, deadline), 0U);
  EXPECT_GE(SteadyClock::shared().now(), deadline);
  for (int round = 0; round < 20; ++round) {
    engine().wake();
    EXPECT_FALSE(wait_for_watch());
    std::jthread waker([this] { engine().wake(); });
    EXPECT_FALSE(wait_for_watch());
  }
}

/// Another thread signals the descriptor, waits until the event was handled, and so on, while reads
/// continue: neither may hide the other.
TEST_P(WatchTest, completions_and_watch_events_do_not_hide_each_other) {
  constexpr int kCalls = 200;
  constexpr std::size_t kReads = 400;
  const auto file = make_file(kReads * unit_bytes());
  const AlignedMemory memory(kReads * unit_bytes());
  const std::vector<Operation> reads = reads_of_units(*file, memory.bytes());
  std::atomic<int> handled{0};
  std::jthread caller([&] {
    for (int call = 0; call < kCalls; ++call) {
      event_fd_.notify();
      handled.wait(call);
    }
  });
  std::span<const Operation> left = reads;
  std::array<Completion, 3> completions;
  std::size_t completed = 0;
  while (completed < kReads || handled.load() < kCalls) {
    left = left.subspan(engine().submit(left));
    completed += engine().wait(completions, std::nullopt);
    if (!engine().consume_watch_event() || event_fd_.consume() == 0) continue;
    handled.fetch_add(1);
    handled.notify_one();
  }
  EXPECT_EQ(completed, kReads);
  EXPECT_EQ(matching_pattern(memory.bytes(), 0), kReads * unit_bytes());
}

TEST_P(WatchTest, watch_event_is_reported_under_constant_completions) {
  const auto file = make_file(kQueueDepth * unit_bytes());
  const AlignedMemory memory(kQueueDepth * unit_bytes());
  const std::vector<Operation> reads = reads_of_units(*file, memory.bytes());
  event_fd_.notify();
  const TimePoint deadline = SteadyClock::shared().now() + kTestTimeout;
  EXPECT_EQ(engine().submit(reads), kQueueDepth);
  bool called = false;
  std::array<Completion, kQueueDepth> completions;
  while (!called && SteadyClock::shared().now() < deadline) {
    const std::size_t count = engine().wait(completions, std::nullopt);
    called = engine().consume_watch_event();
    for (const Completion& completion : std::span(completions).first(count))
      engine().submit({&reads.at(completion.tag), 1});
  }
  EXPECT_TRUE(called);
  destroy_engine();  // file and memory still exist
}

TEST_P(WatchTest, destructor_works_with_a_watch) {
  EXPECT_FALSE(poll_watch());
  const auto file = make_file(kQueueDepth * unit_bytes());
  const AlignedMemory memory(kQueueDepth * unit_bytes());
  EXPECT_EQ(engine().submit(reads_of_units(*file, memory.bytes())), kQueueDepth);
  event_fd_.notify();
  destroy_engine();
}

TEST_P(Conformance, watched_epoll_reports_each_of_its_descriptors) {
  const std::array<TestEventFd, 2> signals;
  const Descriptor set(::epoll_create1(EPOLL_CLOEXEC));
  for (const TestEventFd& one : signals) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    ASSERT_EQ(::epoll_ctl(set.get(), EPOLL_CTL_ADD, one.descriptor(), &event), 0);
  }
  ASSERT_TRUE(engine().watch(set.get()));
  std::array<Completion, 1> completions;
  for (int round = 0; round < 10; ++round) {
    const TestEventFd& chosen = signals.at(static_cast<std::size_t>(round) % 2);
    std::jthread other([&chosen] { chosen.notify(); });
    EXPECT_EQ(engine().wait(completions, std::nullopt), 0U);
    EXPECT_TRUE(engine().consume_watch_event());
    EXPECT_EQ(chosen.consume(), 1U);
  }
  destroy_engine();
}

TEST_P(Conformance, watched_socket_reports_its_closed_peer) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  ASSERT_TRUE(engine().watch(ends[0]));
  std::array<Completion, 1> completions;
  EXPECT_EQ(engine().wait(completions, kDoNotBlock), 0U);
  EXPECT_FALSE(engine().consume_watch_event());
  ::close(ends[1]);
  EXPECT_EQ(engine().wait(completions, std::nullopt), 0U);
  EXPECT_TRUE(engine().consume_watch_event());
  destroy_engine();
  ::close(ends[0]);
}

TEST_P(Conformance, invalid_descriptor_is_refused) {
  const int closed = ::dup(0);
  ::close(closed);
  for (const int bad : {-1, closed}) {
    const Status watched = engine().watch(bad);
    ASSERT_FALSE(watched);
    EXPECT_EQ(watched.error().kind(), ErrorClass::kInvalidArgument);
  }
}

INSTANTIATE_TEST_SUITE_P(Sound, WatchTest, ::testing::ValuesIn(fault_free_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Faulty, WatchTest, ::testing::ValuesIn(faulty_cases()), case_name);

}  // namespace
}  // namespace forebay::storage
