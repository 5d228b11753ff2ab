// SPDX-License-Identifier: Apache-2.0
// Functions of the program that end, throw, do not return, are overtaken, or yield useless ranges.
#include "push/pre_execution.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <latch>
#include <vector>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"

namespace forebay::push {
namespace {

constexpr std::chrono::seconds kTestTimeout{20};
constexpr std::uint64_t kReadBytes = 4096;

ByteRange numbered(std::uint64_t number) { return {number * kReadBytes, kReadBytes}; }

/// Yields ranges 0, 1, ... up to a count.
NextRead numbers(std::uint64_t count) {
  return [count, next = std::uint64_t{0}]() mutable -> std::optional<ByteRange> {
    if (next == count) return std::nullopt;
    return numbered(next++);
  };
}

/// Records the calls of both callbacks.
class Calls {
 public:
  PreExecution::Options options(PreExecutionMode mode = PreExecutionMode::kThread,
                                std::uint32_t ahead_max = 256) {
    return {.mode = mode,
            .ahead_max = ahead_max,
            .extent = {0, 1000 * kReadBytes},
            .path = "data.bin",
            .push = [this](ByteRange range) { add(pushed_, range); },
            .report = [this](const Error& error) { add(reports_, error.message()); }};
  }
  std::vector<ByteRange> wait_for_pushed(std::size_t count) { return wait(pushed_, count); }
  std::string wait_for_report() { return wait(reports_, 1).at(0); }
  std::vector<std::string> reports() { return wait(reports_, 0); }

 private:
  template <class T>
  void add(std::vector<T>& values, T value) {
    const std::lock_guard lock(mutex_);
    values.push_back(std::move(value));
    changed_.notify_all();
  }
  template <class T>
  std::vector<T> wait(std::vector<T>& values, std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kTestTimeout, [&] { return values.size() >= count; }));
    return values;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ByteRange> pushed_;
  std::vector<std::string> reports_;
};

std::vector<ByteRange> queue_of(const PreExecution& execution) {
  std::array<Prediction, 300> into{};
  std::vector<ByteRange> ranges;
  for (const Prediction& one : std::span(into).first(execution.predict(into)))
    ranges.push_back({one.offset, one.size});
  return ranges;
}

/// An idle thread may be preempted between its last range and its end.
bool wait_for_end(const PreExecution& execution) {
  const auto deadline = std::chrono::steady_clock::now() + kTestTimeout;
  while (!execution.has_ended() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return execution.has_ended();
}

class PreExecutionTest : public ::testing::TestWithParam<PreExecutionMode> {
 protected:
  detail::OriginPointer<PreExecution> start(NextRead next_read, std::uint32_t ahead_max = 256) {
    return PreExecution::start(std::move(next_read), calls_.options(GetParam(), ahead_max)).value();
  }
  Calls calls_;
};
INSTANTIATE_TEST_SUITE_P(Modes,
                         PreExecutionTest,
                         ::testing::Values(PreExecutionMode::kThread, PreExecutionMode::kIdle));

TEST_P(PreExecutionTest, function_that_ends_has_all_reads_pushed_and_predicted) {
  const auto execution = start(numbers(5));
  const auto pushed = calls_.wait_for_pushed(5);
  EXPECT_EQ(queue_of(*execution), pushed);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(pushed[i], numbered(i));
    execution->observe(numbered(i));
    EXPECT_EQ(queue_of(*execution).size(), 4 - i);
  }
  ASSERT_TRUE(wait_for_end(*execution));
  for (int i = 0; i < 40; ++i)
    execution->observe(numbered(7));
  EXPECT_FALSE(execution->is_overtaken()) << "it has ended";
  EXPECT_TRUE(calls_.reports().empty());
}

TEST_P(PreExecutionTest, function_faster_than_reader_stays_within_the_limit) {
  const auto execution = start(numbers(1000), 16);
  EXPECT_EQ(calls_.wait_for_pushed(16).size(), 16U);
  EXPECT_EQ(queue_of(*execution).size(), 16U);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    calls_.wait_for_pushed(i + 1);
    EXPECT_LE(queue_of(*execution).size(), 16U);
    execution->observe(numbered(i));
  }
  const auto pushed = calls_.wait_for_pushed(1000);
  for (std::uint64_t i = 0; i < 1000; ++i)
    ASSERT_EQ(pushed[i], numbered(i));
}

TEST_P(PreExecutionTest, exception_reaches_report_and_reads_before_it_stay) {
  const auto execution = start([first = true]() mutable -> std::optional<ByteRange> {
    if (!std::exchange(first, false)) throw std::runtime_error("no\nmap");
    return numbered(3);
  });
  EXPECT_EQ(calls_.wait_for_report(),
            "pre-execute the reads of data.bin: the function threw: no\\nmap");
  EXPECT_EQ(queue_of(*execution), std::vector{numbered(3)});
  execution->observe(numbered(3));
}

TEST_P(PreExecutionTest, object_that_is_no_exception_is_reported) {
  const auto execution = start([]() -> std::optional<ByteRange> { throw 3; });
  EXPECT_NE(calls_.wait_for_report().find("no std::exception"), std::string::npos);
}

TEST_P(PreExecutionTest, function_that_does_not_return_delays_the_end_by_a_second) {
  const auto entered = std::make_shared<std::latch>(1);
  const auto latch = std::make_shared<std::latch>(1);
  auto token = std::make_shared<int>(0);
  const std::weak_ptr<int> is_owned = token;
  auto execution = start([latch, entered, token]() -> std::optional<ByteRange> {
    entered->count_down();
    latch->wait();
    return numbered(0);
  });
  token.reset();
  entered->wait();
  const auto begin = std::chrono::steady_clock::now();
  execution->cancel();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
  execution.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_NE(calls_.wait_for_report().find("reads of data.bin: the function has not returned"),
            std::string::npos);
  latch->count_down();
  const auto deadline = std::chrono::steady_clock::now() + kTestTimeout;
  while (!is_owned.expired() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(is_owned.expired()) << "its thread has destroyed the function";
  EXPECT_TRUE(calls_.wait_for_pushed(0).empty());
}

TEST_P(PreExecutionTest, overtaken_function_is_not_called_again) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto may_return = std::make_shared<std::latch>(1);
  const auto execution = start([calls, may_return]() -> std::optional<ByteRange> {
    if (++*calls == 2) may_return->wait();
    return numbered(0);
  });
  calls_.wait_for_pushed(1);
  for (std::uint64_t i = 1; i < PreExecution::kMissesMax; ++i)
    execution->observe(numbered(i));
  execution->observe(numbered(0));
  for (std::uint64_t i = 1; i < PreExecution::kMissesMax; ++i)
    execution->observe(numbered(i));
  EXPECT_FALSE(execution->is_overtaken()) << "a read in the queue starts the count again";
  execution->observe(numbered(99));
  EXPECT_TRUE(execution->is_overtaken());
  EXPECT_TRUE(queue_of(*execution).empty());
  may_return->count_down();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(*calls, 2);
  EXPECT_TRUE(calls_.reports().empty());
}

TEST_P(PreExecutionTest, reads_before_the_first_range_do_not_overtake) {
  const auto latch = std::make_shared<std::latch>(1);
  const auto execution = start([latch, next = numbers(1)] {
    latch->wait();
    return next();
  });
  for (std::uint64_t i = 0; i < 100; ++i)
    execution->observe(numbered(i));
  latch->count_down();
  EXPECT_EQ(calls_.wait_for_pushed(1), std::vector{numbered(0)});
}

TEST_P(PreExecutionTest, empty_and_outer_ranges_are_dropped_and_counted) {
  const auto execution =
      start([i = 0, ranges = std::array<ByteRange, 5>{
                        numbered(1), ByteRange{5, 0}, numbered(1000), ByteRange{5, kAll},
                        numbered(2)}]() mutable -> std::optional<ByteRange> {
        if (i == 5) return std::nullopt;
        return ranges[static_cast<std::size_t>(i++)];
      });
  EXPECT_EQ(calls_.wait_for_pushed(2), (std::vector{numbered(1), numbered(2)}));
  EXPECT_EQ(execution->dropped_count(), 3U);
}

TEST_P(PreExecutionTest, endless_useless_ranges_are_reported_and_end) {
  const auto execution = start([] { return ByteRange{}; });
  EXPECT_NE(calls_.wait_for_report().find("4096 ranges in a row are empty"), std::string::npos);
  EXPECT_EQ(execution->dropped_count(), PreExecution::kDropsMax);
}

TEST_P(PreExecutionTest, child_of_fork_does_nothing_and_ends) {
  auto execution = start(numbers(1000), 4);
  calls_.wait_for_pushed(4);
  const pid_t child = ::fork();
  if (child == 0) {
    execution->observe(numbered(0));
    const bool is_idle = queue_of(*execution).empty();
    execution->cancel();
    execution.reset();
    ::_exit(is_idle ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(queue_of(*execution).size(), 4U);
}

TEST(PreExecution, many_threads_observe_every_read) {
  constexpr std::uint64_t kThreads = 4;
  Calls calls;
  const auto execution =
      PreExecution::start(numbers(1000), calls.options(PreExecutionMode::kThread, 64)).value();
  std::atomic<std::uint64_t> next{0};
  const auto read_all = [&] {
    for (std::uint64_t number = next++; number < 1000; number = next++) {
      execution->observe(numbered(number));
      EXPECT_LE(queue_of(*execution).size(), 64U);
    }
  };
  std::vector<std::thread> readers;
  for (std::uint64_t i = 0; i < kThreads; ++i)
    readers.emplace_back(read_all);
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_TRUE(calls.reports().empty());
}

TEST(PreExecution, reads_of_other_sizes_match_by_their_bytes) {
  Calls calls;
  const auto execution = PreExecution::start(numbers(10), calls.options()).value();
  calls.wait_for_pushed(10);
  execution->observe({0, 100});
  EXPECT_EQ(queue_of(*execution).size(), 10U) << "a part of the first range";
  execution->observe({100, kReadBytes - 100});
  EXPECT_EQ(queue_of(*execution).size(), 9U) << "its end";
  execution->observe({3 * kReadBytes, 2 * kReadBytes});
  EXPECT_EQ(queue_of(*execution).size(), 5U) << "two ranges at once";
}

TEST(PreExecution, range_that_is_read_before_its_push_is_not_pushed) {
  Calls calls;
  auto options = calls.options();
  std::latch is_pushing(1);
  std::latch may_push(1);
  options.push = [&, push = options.push](ByteRange range) {
    is_pushing.count_down();
    may_push.wait();
    push(range);
  };
  const auto latch = std::make_shared<std::latch>(1);
  const auto execution = PreExecution::start(
                             [latch, i = std::uint64_t{0}]() mutable -> std::optional<ByteRange> {
                               if (i == 4) latch->count_down();
                               return i == 4 ? std::nullopt : std::optional(numbered(i++));
                             },
                             options)
                             .value();
  is_pushing.wait();
  latch->wait();
  execution->observe(numbered(2));
  may_push.count_down();
  EXPECT_EQ(calls.wait_for_pushed(2), (std::vector{numbered(0), numbered(3)}));
}

TEST(PreExecution, idle_mode_runs_the_function_with_idle_policy) {
  Calls calls;
  const auto execution = PreExecution::start(
                             [is_first = true]() mutable -> std::optional<ByteRange> {
                               if (!std::exchange(is_first, false)) return std::nullopt;
                               const auto policy =
                                   static_cast<std::uint64_t>(::sched_getscheduler(0));
                               return numbered(policy);
                             },
                             calls.options(PreExecutionMode::kIdle))
                             .value();
  EXPECT_EQ(calls.wait_for_pushed(1), std::vector{numbered(SCHED_IDLE)});
}

/// Later calls of sched_setscheduler() of this thread, and of threads that it starts, fail.
bool refuse_scheduling_policies() {
  constexpr auto kCall = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  std::array<sock_filter, 4> rules{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCall),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setscheduler, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  sock_fprog program{.len = static_cast<unsigned short>(rules.size()), .filter = rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(PreExecution, refused_idle_policy_is_reported_once_and_the_function_runs) {
  Calls calls;
  bool is_refused = false;
  std::thread([&] {
    is_refused = refuse_scheduling_policies();
    if (!is_refused) return;
    const auto execution =
        PreExecution::start(numbers(3), calls.options(PreExecutionMode::kIdle)).value();
    calls.wait_for_pushed(3);
    calls.wait_for_report();
  }).join();
  if (!is_refused) GTEST_SKIP() << "the system refuses seccomp filters";
  ASSERT_EQ(calls.reports().size(), 1U);
  EXPECT_NE(calls.reports()[0].find("SCHED_IDLE is refused"), std::string::npos)
      << calls.reports()[0];
}

}  // namespace
}  // namespace forebay::push
