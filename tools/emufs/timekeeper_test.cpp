// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/timekeeper.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "tools/emufs/allowances.hpp"

namespace forebay::emufs {
namespace {

using namespace std::chrono_literals;
using model::RequestKind;
using model::Time;

/// Counts answers, and knows when the last one came.
class Answers {
 public:
  std::unique_ptr<Answer> next() {
    return make_answer([this] { came(0); }, [this](int error) { came(error); });
  }
  bool wait_for(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return count_ >= count; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  Time first() const { return first_; }
  Time last() const { return last_; }
  int error() const { return error_; }

 private:
  void came(int error) {
    const std::lock_guard lock(mutex_);
    ++count_;
    error_ = error;
    last_ = monotonic_now();
    if (count_ == 1) first_ = last_;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  int error_ = 0;
  Time first_{};
  Time last_{};
};

model::Machine machine_with(double latency_us, std::uint32_t concurrency) {
  model::Machine machine;
  machine.servers.push_back(
      {.latency_us = latency_us, .concurrency = concurrency, .write_latency_us = latency_us});
  return machine;
}

Job job_of(Answers& answers, Time taken) {
  return {.request = {.kind = RequestKind::kRead, .file = 1, .range = {0, 4096}},
          .taken = taken,
          .answer = answers.next()};
}

TEST(Timekeeper, an_answer_comes_when_the_model_says_and_never_before) {
  Answers answers;
  auto time = Timekeeper::start({.machine = machine_with(20'000, 1)});
  ASSERT_TRUE(time);
  const Time begin = monotonic_now();
  (*time)->submit(1, job_of(answers, begin));
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_GE(answers.last() - begin, 20ms);
}

TEST(Timekeeper, allowance_for_fuse_is_subtracted) {
  Answers whole;
  Answers reduced;
  auto time = Timekeeper::start({.machine = machine_with(500'000, 2)});
  ASSERT_TRUE(time);
  const Time begin = monotonic_now();
  (*time)->submit(1, job_of(whole, begin));
  Job job = job_of(reduced, begin);
  job.allowance = {.before = 400ms, .after = 50ms};
  (*time)->submit(2, std::move(job));
  ASSERT_TRUE(whole.wait_for(1));
  ASSERT_TRUE(reduced.wait_for(1));
  EXPECT_GE(reduced.last() - begin, 50ms);
  EXPECT_LT(reduced.last(), whole.last()) << "submitted later, and answered first";
}

TEST(Timekeeper, requests_wait_for_places_and_not_for_threads) {
  Answers many;
  Answers short_one;
  auto wide = Timekeeper::start({.machine = machine_with(500'000, 65), .answer_threads = 1});
  ASSERT_TRUE(wide);
  const Time begin = monotonic_now();
  for (Ticket ticket = 0; ticket < 64; ++ticket)
    (*wide)->submit(ticket, job_of(many, begin));
  Job job = job_of(short_one, begin);
  job.allowance = {.before = 450ms, .after = 0ms};
  (*wide)->submit(64, std::move(job));
  ASSERT_TRUE(many.wait_for(64));
  ASSERT_TRUE(short_one.wait_for(1));
  EXPECT_LT(short_one.last(), many.first()) << "the one thread waited for a longer request";
  Answers few;
  auto narrow = Timekeeper::start({.machine = machine_with(5'000, 1)});
  ASSERT_TRUE(narrow);
  const Time second = monotonic_now();
  for (Ticket ticket = 0; ticket < 8; ++ticket)
    (*narrow)->submit(ticket, job_of(few, second));
  ASSERT_TRUE(few.wait_for(8));
  EXPECT_GE(few.last() - second, 8 * 5ms);
}

TEST(Timekeeper, without_delays_the_answer_comes_within_the_call) {
  Answers answers;
  auto time = Timekeeper::start({.machine = machine_with(0, 1), .delays = Delays::kNone});
  ASSERT_TRUE(time);
  (*time)->submit(1, job_of(answers, monotonic_now()));
  EXPECT_TRUE(answers.wait_for(1));
  (*time)->with_model([](model::StorageModel& model, Time) {
    EXPECT_EQ(model.counters(model::ClientId{0}).bytes_read, 4096U);
  });
}

TEST(Timekeeper, who_is_interrupted_at_a_server_that_drops_gets_eintr) {
  Answers answers;
  auto time = Timekeeper::start({.machine = machine_with(1'000, 1), .interrupt_period = 1ms});
  ASSERT_TRUE(time);
  (*time)->with_model([](model::StorageModel& model, Time now) {
    model.set_condition(now, {}, {.state = model::ServerCondition::State::kDrops});
  });
  (*time)->submit(1, job_of(answers, monotonic_now()));
  (*time)->interrupt(1, [] { return false; });
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.error(), EINTR);
}

TEST(Timekeeper, who_is_interrupted_at_a_slow_server_gets_the_answer) {
  std::atomic<int> asked{0};
  Answers answers;
  auto time = Timekeeper::start({.machine = machine_with(50'000, 1), .interrupt_period = 1ms});
  ASSERT_TRUE(time);
  (*time)->submit(1, job_of(answers, monotonic_now()));
  (*time)->interrupt(1, [&asked] { return ++asked < 0; });
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.error(), 0);
  EXPECT_GT(asked, 0);
}

TEST(Timekeeper, who_is_killed_after_a_signal_at_a_server_that_stopped_gets_eintr) {
  std::atomic<int> asked{0};
  Answers answers;
  auto time = Timekeeper::start({.machine = machine_with(1'000, 1), .interrupt_period = 1ms});
  ASSERT_TRUE(time);
  (*time)->with_model([](model::StorageModel& model, Time now) {
    model.set_condition(now, {}, {.state = model::ServerCondition::State::kStopped});
  });
  (*time)->submit(1, job_of(answers, monotonic_now()));
  (*time)->interrupt(1, [&asked] { return ++asked > 3; });
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.error(), EINTR);
  EXPECT_EQ(asked, 4);
}

TEST(Timekeeper, what_waits_at_the_end_is_answered) {
  Answers answers;
  auto time = Timekeeper::start({.machine = machine_with(10'000'000, 1)});
  ASSERT_TRUE(time);
  (*time)->submit(1, job_of(answers, monotonic_now()));
  time->reset();
  EXPECT_TRUE(answers.wait_for(1));
}

/// Two clients of one file: client 0 has read it, so that a write by client 1 drops its pages.
class TwoClients {
 public:
  explicit TwoClients(Delays delays, Time pages_patience) {
    model::Machine machine = machine_with(delays == Delays::kKept ? 1'000 : 0, 4);
    machine.client.count = 2;
    machine.locks.unit = model::LockUnit::kFile;
    auto started = Timekeeper::start({.machine = machine,
                                      .delays = delays,
                                      .drop_pages = [this](const model::LockLost&) { drop(); },
                                      .pages_patience = pages_patience,
                                      .change_patience = 3600s});
    time_ = std::move(*started);
    time_->submit(1, job_of(read_, monotonic_now()));
    EXPECT_TRUE(read_.wait_for(1));
  }
  ~TwoClients() { let_drop(); }

  void write() {
    Job job = job_of(written_, monotonic_now());
    job.request.kind = RequestKind::kWrite;
    job.request.client = 1;
    time_->submit(2, std::move(job));
  }
  void change() {
    Job job = job_of(written_, monotonic_now());
    job.request = {.client = 1, .kind = RequestKind::kStat};
    job.changed = 1;
    time_->drop_pages_of_others(1, 1);
    time_->submit(2, std::move(job));
  }
  /// Something of another file, by whose answer it is seen that others go on.
  bool others_go_on() {
    Job job = job_of(read_, monotonic_now());
    job.request.file = 2;
    time_->submit(3, std::move(job));
    return read_.wait_for(2);
  }
  void let_drop() {
    const std::lock_guard lock(mutex_);
    may_drop_ = true;
    changed_.notify_all();
  }
  bool was_asked_to_drop() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [this] { return is_asked_; });
  }
  Answers& written() { return written_; }

 private:
  void drop() {
    std::unique_lock lock(mutex_);
    is_asked_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return may_drop_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool may_drop_ = false;
  bool is_asked_ = false;
  Answers read_;
  Answers written_;
  std::unique_ptr<Timekeeper> time_;
};

class TimekeeperOfPages : public testing::TestWithParam<Delays> {};
INSTANTIATE_TEST_SUITE_P(Delays, TimekeeperOfPages, testing::Values(Delays::kKept, Delays::kNone));

TEST_P(TimekeeperOfPages, a_write_waits_until_pages_of_others_are_dropped_and_no_longer) {
  // An hour's patience: whoever waited for its end would not be back in time.
  TwoClients clients(GetParam(), 3600s);
  clients.write();
  ASSERT_TRUE(clients.was_asked_to_drop());
  EXPECT_TRUE(clients.others_go_on());
  EXPECT_EQ(clients.written().count(), 0);
  clients.let_drop();
  EXPECT_TRUE(clients.written().wait_for(1));
}

TEST_P(TimekeeperOfPages, a_change_of_names_waits_for_the_pages_that_it_had_dropped) {
  TwoClients clients(GetParam(), 0s);
  clients.change();
  ASSERT_TRUE(clients.was_asked_to_drop());
  EXPECT_TRUE(clients.others_go_on());
  EXPECT_EQ(clients.written().count(), 0);
  clients.let_drop();
  EXPECT_TRUE(clients.written().wait_for(1));
}

TEST_P(TimekeeperOfPages, a_write_waits_for_locked_pages_until_its_patience_ends) {
  TwoClients clients(GetParam(), 1ms);
  clients.write();
  ASSERT_TRUE(clients.was_asked_to_drop());
  EXPECT_TRUE(clients.written().wait_for(1));
}

TEST(Allowances, lie_between_small_and_large_in_proportion) {
  Allowances allowances;
  allowances.read.small = {.before = 10us, .after = 20us};
  allowances.read.large = {.before = 30us, .after = 220us};
  allowances.name = {.before = 1us, .after = 2us};
  EXPECT_EQ(allowances.of(RequestKind::kRead, 0).after, 20us);
  EXPECT_EQ(allowances.of(RequestKind::kRead, 4096).before, 10us);
  EXPECT_EQ(allowances.of(RequestKind::kRead, 1_MiB).after, 220us);
  EXPECT_EQ(allowances.of(RequestKind::kRead, (1_MiB + 4096) / 2).after, 120us);
  EXPECT_EQ(allowances.of(RequestKind::kStat, 0).after, 2us);
}

}  // namespace
}  // namespace forebay::emufs
