// SPDX-License-Identifier: Apache-2.0
// The part of the conformance suite about watching: an owner that waits for storage hears of a
// descriptor in the same place, always, and pays nothing while it is silent.
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
class Signal {
 public:
  Signal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int descriptor() const { return descriptor_.get(); }
  void raise() const { ::eventfd_write(descriptor_.get(), 1); }
  std::uint64_t take() const {
    eventfd_t count = 0;
    return ::eventfd_read(descriptor_.get(), &count) == 0 ? count : 0;
  }

 private:
  Descriptor descriptor_;
};

std::chrono::nanoseconds processor_time_of_this_thread() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

class Watching : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(engine().watch(signal_.descriptor()));
  }

  /// Waits, with nothing in flight, for as long as anybody would; true if the descriptor called.
  bool is_called() {
    std::array<Completion, 1> completions;
    const TimePoint deadline = SteadyClock::shared().now() + kPatience;
    EXPECT_EQ(engine().wait(completions, deadline), 0U);
    return engine().take_watched();
  }

  /// The same without blocking.
  bool is_called_now() {
    std::array<Completion, 1> completions;
    EXPECT_EQ(engine().wait(completions, kDoNotBlock), 0U);
    return engine().take_watched();
  }

  /// Processor time that a wait of this length takes when nothing happens.
  std::chrono::nanoseconds cost_of_idling_for(std::chrono::milliseconds idle) {
    std::array<Completion, 1> completions;
    const auto before = processor_time_of_this_thread();
    EXPECT_EQ(engine().wait(completions, SteadyClock::shared().now() + idle), 0U);
    const auto after = processor_time_of_this_thread();
    EXPECT_FALSE(engine().take_watched());
    return after - before;
  }

  Signal signal_;
};

TEST_P(Watching, descriptor_that_is_readable_already_ends_the_wait) {
  EXPECT_FALSE(engine().take_watched());
  signal_.raise();
  EXPECT_TRUE(is_called());
  EXPECT_FALSE(engine().take_watched()) << "told once";
}

TEST_P(Watching, descriptor_that_becomes_readable_ends_the_wait) {
  for (int round = 0; round < 50; ++round) {
    std::jthread other([this] { signal_.raise(); });
    EXPECT_TRUE(is_called());
    EXPECT_EQ(signal_.take(), 1U);
  }
  EXPECT_FALSE(is_called_now());
}

TEST_P(Watching, descriptor_that_is_left_readable_calls_again) {
  signal_.raise();
  for (int round = 0; round < 5; ++round)
    EXPECT_TRUE(is_called());
  EXPECT_TRUE(is_called_now());
  signal_.take();
  is_called_now();  // may be told of what it was before
  EXPECT_FALSE(is_called_now());
  signal_.raise();
  EXPECT_TRUE(is_called_now());
}

TEST_P(Watching, what_was_seen_is_not_forgotten) {
  signal_.raise();
  std::array<Completion, 1> completions;
  EXPECT_EQ(engine().wait(completions, std::nullopt), 0U);
  signal_.take();
  EXPECT_EQ(engine().wait(completions, kDoNotBlock), 0U);
  EXPECT_TRUE(engine().take_watched());
}

TEST_P(Watching, silence_costs_nothing) {
  constexpr auto kIdle = std::chrono::milliseconds(200);
  // Polling would take most of it. Kernels count in ticks of up to 10 ms.
  constexpr auto kNothing = kIdle / 4;
  EXPECT_LT(cost_of_idling_for(kIdle), kNothing);
  signal_.raise();
  EXPECT_TRUE(is_called());
  signal_.take();
  is_called_now();
  EXPECT_LT(cost_of_idling_for(kIdle), kNothing) << "after it has called";
}

TEST_P(Watching, deadline_and_wake_work_beside_it) {
  std::array<Completion, 1> completions;
  const TimePoint deadline = SteadyClock::shared().now() + std::chrono::milliseconds(3);
  EXPECT_EQ(engine().wait(completions, deadline), 0U);
  EXPECT_GE(SteadyClock::shared().now(), deadline);
  for (int round = 0; round < 20; ++round) {
    engine().wake();
    EXPECT_FALSE(is_called());
    std::jthread waker([this] { engine().wake(); });
    EXPECT_FALSE(is_called());
  }
}

/// Another thread raises the signal, waits until it was attended to, and so on, while reads go on:
/// neither may hide the other.
TEST_P(Watching, completions_and_calls_do_not_hide_each_other) {
  constexpr int kCalls = 200;
  constexpr std::size_t kReads = 400;
  const auto file = make_file(kReads * unit());
  const AlignedMemory memory(kReads * unit());
  const std::vector<Operation> reads = reads_of_units(*file, memory.bytes());
  std::atomic<int> attended{0};
  std::jthread caller([&] {
    for (int call = 0; call < kCalls; ++call) {
      signal_.raise();
      attended.wait(call);
    }
  });
  std::span<const Operation> left = reads;
  std::array<Completion, 3> completions;
  std::size_t completed = 0;
  while (completed < kReads || attended.load() < kCalls) {
    left = left.subspan(engine().submit(left));
    completed += engine().wait(completions, std::nullopt);
    if (!engine().take_watched() || signal_.take() == 0) continue;
    attended.fetch_add(1);
    attended.notify_one();
  }
  EXPECT_EQ(completed, kReads);
  EXPECT_EQ(matching_pattern(memory.bytes(), 0), kReads * unit());
}

TEST_P(Watching, call_is_heard_although_completions_never_run_dry) {
  const auto file = make_file(kQueueDepth * unit());
  const AlignedMemory memory(kQueueDepth * unit());
  const std::vector<Operation> reads = reads_of_units(*file, memory.bytes());
  signal_.raise();
  const TimePoint deadline = SteadyClock::shared().now() + kPatience;
  EXPECT_EQ(engine().submit(reads), kQueueDepth);
  bool called = false;
  std::array<Completion, kQueueDepth> completions;
  while (!called && SteadyClock::shared().now() < deadline) {
    const std::size_t count = engine().wait(completions, std::nullopt);
    called = engine().take_watched();
    for (const Completion& completion : std::span(completions).first(count))
      engine().submit({&reads.at(completion.tag), 1});
  }
  EXPECT_TRUE(called);
  end_engine();  // file and memory are still there
}

TEST_P(Watching, end_while_watching_is_clean) {
  EXPECT_FALSE(is_called_now());
  const auto file = make_file(kQueueDepth * unit());
  const AlignedMemory memory(kQueueDepth * unit());
  EXPECT_EQ(engine().submit(reads_of_units(*file, memory.bytes())), kQueueDepth);
  signal_.raise();
  end_engine();
}

TEST_P(Conformance, watched_set_calls_for_each_of_its_descriptors) {
  const std::array<Signal, 2> signals;
  const Descriptor set(::epoll_create1(EPOLL_CLOEXEC));
  for (const Signal& one : signals) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    ASSERT_EQ(::epoll_ctl(set.get(), EPOLL_CTL_ADD, one.descriptor(), &event), 0);
  }
  ASSERT_TRUE(engine().watch(set.get()));
  std::array<Completion, 1> completions;
  for (int round = 0; round < 10; ++round) {
    const Signal& chosen = signals.at(static_cast<std::size_t>(round) % 2);
    std::jthread other([&chosen] { chosen.raise(); });
    EXPECT_EQ(engine().wait(completions, std::nullopt), 0U);
    EXPECT_TRUE(engine().take_watched());
    EXPECT_EQ(chosen.take(), 1U);
  }
  end_engine();
}

TEST_P(Conformance, watched_socket_calls_when_its_peer_is_gone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  ASSERT_TRUE(engine().watch(ends[0]));
  std::array<Completion, 1> completions;
  EXPECT_EQ(engine().wait(completions, kDoNotBlock), 0U);
  EXPECT_FALSE(engine().take_watched());
  ::close(ends[1]);
  EXPECT_EQ(engine().wait(completions, std::nullopt), 0U);
  EXPECT_TRUE(engine().take_watched());
  end_engine();
  ::close(ends[0]);
}

TEST_P(Conformance, what_is_no_descriptor_is_refused) {
  const int closed = ::dup(0);
  ::close(closed);
  for (const int bad : {-1, closed}) {
    const Status watched = engine().watch(bad);
    ASSERT_FALSE(watched);
    EXPECT_EQ(watched.error().kind(), ErrorClass::kInvalidArgument);
  }
}

INSTANTIATE_TEST_SUITE_P(Sound, Watching, ::testing::ValuesIn(sound_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Faulty, Watching, ::testing::ValuesIn(faulty_cases()), case_name);

}  // namespace
}  // namespace forebay::storage
