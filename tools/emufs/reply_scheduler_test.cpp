// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/reply_scheduler.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "tools/emufs/fuse_overheads.hpp"

namespace forebay::emufs {
namespace {

using namespace std::chrono_literals;
using model::RequestKind;
using model::Time;

/// Counts replies, and has the times of the first and last one.
class ReplyRecorder {
 public:
  std::unique_ptr<Reply> next() {
    return make_reply([this] { record(0); }, [this](int error) { record(error); });
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
  void record(int error) {
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

ScheduledRequest scheduled_request(ReplyRecorder& replies, Time arrival) {
  return {.request = {.kind = RequestKind::kRead, .file = 1, .range = {0, 4096}},
          .arrival = arrival,
          .reply = replies.next()};
}

TEST(ReplyScheduler, reply_is_sent_not_before_the_models_time) {
  ReplyRecorder replies;
  auto scheduler = ReplyScheduler::start({.machine = machine_with(20'000, 1)});
  ASSERT_TRUE(scheduler);
  const Time begin = monotonic_now();
  (*scheduler)->submit(1, scheduled_request(replies, begin));
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_GE(replies.last() - begin, 20ms);
}

TEST(ReplyScheduler, fuse_overhead_is_subtracted) {
  ReplyRecorder whole;
  ReplyRecorder reduced;
  auto scheduler = ReplyScheduler::start({.machine = machine_with(500'000, 2)});
  ASSERT_TRUE(scheduler);
  const Time begin = monotonic_now();
  (*scheduler)->submit(1, scheduled_request(whole, begin));
  ScheduledRequest scheduled = scheduled_request(reduced, begin);
  scheduled.overhead = {.before = 400ms, .after = 50ms};
  (*scheduler)->submit(2, std::move(scheduled));
  ASSERT_TRUE(whole.wait_for(1));
  ASSERT_TRUE(reduced.wait_for(1));
  EXPECT_GE(reduced.last() - begin, 50ms);
  EXPECT_LT(reduced.last(), whole.last()) << "submitted later, replied first";
}

TEST(ReplyScheduler, requests_wait_for_servers_not_for_threads) {
  ReplyRecorder many;
  ReplyRecorder short_one;
  auto wide = ReplyScheduler::start({.machine = machine_with(500'000, 65), .reply_threads = 1});
  ASSERT_TRUE(wide);
  const Time begin = monotonic_now();
  for (Ticket ticket = 0; ticket < 64; ++ticket)
    (*wide)->submit(ticket, scheduled_request(many, begin));
  ScheduledRequest scheduled = scheduled_request(short_one, begin);
  scheduled.overhead = {.before = 450ms, .after = 0ms};
  (*wide)->submit(64, std::move(scheduled));
  ASSERT_TRUE(many.wait_for(64));
  ASSERT_TRUE(short_one.wait_for(1));
  EXPECT_LT(short_one.last(), many.first()) << "the only thread waited for a longer request";
  ReplyRecorder few;
  auto narrow = ReplyScheduler::start({.machine = machine_with(5'000, 1)});
  ASSERT_TRUE(narrow);
  const Time second = monotonic_now();
  for (Ticket ticket = 0; ticket < 8; ++ticket)
    (*narrow)->submit(ticket, scheduled_request(few, second));
  ASSERT_TRUE(few.wait_for(8));
  EXPECT_GE(few.last() - second, 8 * 5ms);
}

TEST(ReplyScheduler, without_delays_reply_is_sent_within_the_call) {
  ReplyRecorder replies;
  auto scheduler =
      ReplyScheduler::start({.machine = machine_with(0, 1), .delay_mode = DelayMode::kDisabled});
  ASSERT_TRUE(scheduler);
  (*scheduler)->submit(1, scheduled_request(replies, monotonic_now()));
  EXPECT_TRUE(replies.wait_for(1));
  (*scheduler)->with_model([](model::StorageModel& model, Time) {
    EXPECT_EQ(model.counters(model::ClientId{0}).bytes_read, 4096U);
  });
}

TEST(ReplyScheduler, interrupt_at_a_dropping_server_fails_with_eintr) {
  ReplyRecorder replies;
  auto scheduler =
      ReplyScheduler::start({.machine = machine_with(1'000, 1), .interrupt_period = 1ms});
  ASSERT_TRUE(scheduler);
  (*scheduler)->with_model([](model::StorageModel& model, Time now) {
    model.set_condition(now, {}, {.state = model::ServerCondition::State::kDropping});
  });
  (*scheduler)->submit(1, scheduled_request(replies, monotonic_now()));
  (*scheduler)->interrupt(1, [] { return false; });
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_EQ(replies.error(), EINTR);
}

TEST(ReplyScheduler, interrupt_at_a_slow_server_gets_the_reply) {
  std::atomic<int> calls{0};
  ReplyRecorder replies;
  auto scheduler =
      ReplyScheduler::start({.machine = machine_with(50'000, 1), .interrupt_period = 1ms});
  ASSERT_TRUE(scheduler);
  (*scheduler)->submit(1, scheduled_request(replies, monotonic_now()));
  (*scheduler)->interrupt(1, [&calls] { return ++calls < 0; });
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_EQ(replies.error(), 0);
  EXPECT_GT(calls, 0);
}

TEST(ReplyScheduler, kill_after_interrupt_at_a_stopped_server_fails_with_eintr) {
  std::atomic<int> calls{0};
  ReplyRecorder replies;
  auto scheduler =
      ReplyScheduler::start({.machine = machine_with(1'000, 1), .interrupt_period = 1ms});
  ASSERT_TRUE(scheduler);
  (*scheduler)->with_model([](model::StorageModel& model, Time now) {
    model.set_condition(now, {}, {.state = model::ServerCondition::State::kStopped});
  });
  (*scheduler)->submit(1, scheduled_request(replies, monotonic_now()));
  (*scheduler)->interrupt(1, [&calls] { return ++calls > 3; });
  ASSERT_TRUE(replies.wait_for(1));
  EXPECT_EQ(replies.error(), EINTR);
  EXPECT_EQ(calls, 4);
}

TEST(ReplyScheduler, destructor_sends_waiting_replies) {
  ReplyRecorder replies;
  auto scheduler = ReplyScheduler::start({.machine = machine_with(10'000'000, 1)});
  ASSERT_TRUE(scheduler);
  (*scheduler)->submit(1, scheduled_request(replies, monotonic_now()));
  scheduler->reset();
  EXPECT_TRUE(replies.wait_for(1));
}

/// Two clients of one file: client 0 has read it, so a write by client 1 drops its pages.
class TwoClients {
 public:
  explicit TwoClients(DelayMode delay_mode, Time invalidation_timeout) {
    model::Machine machine = machine_with(delay_mode == DelayMode::kEnabled ? 1'000 : 0, 4);
    machine.client.count = 2;
    machine.locks.unit = model::LockUnit::kFile;
    auto started =
        ReplyScheduler::start({.machine = machine,
                               .delay_mode = delay_mode,
                               .invalidate_pages = [this](const model::LockRevoked&) { drop(); },
                               .invalidation_timeout = invalidation_timeout,
                               .change_timeout = 3600s});
    scheduler_ = std::move(*started);
    scheduler_->submit(1, scheduled_request(read_, monotonic_now()));
    EXPECT_TRUE(read_.wait_for(1));
  }
  ~TwoClients() { allow_invalidation(); }

  void write() {
    ScheduledRequest scheduled = scheduled_request(written_, monotonic_now());
    scheduled.request.kind = RequestKind::kWrite;
    scheduled.request.client = 1;
    scheduler_->submit(2, std::move(scheduled));
  }
  void change() {
    ScheduledRequest scheduled = scheduled_request(written_, monotonic_now());
    scheduled.request = {.client = 1, .kind = RequestKind::kStat};
    scheduled.changed_file = 1;
    scheduler_->invalidate_other_clients(1, 1);
    scheduler_->submit(2, std::move(scheduled));
  }
  /// Reads another file: its reply shows that other requests are not blocked.
  bool can_read_other_file() {
    ScheduledRequest scheduled = scheduled_request(read_, monotonic_now());
    scheduled.request.file = 2;
    scheduler_->submit(3, std::move(scheduled));
    return read_.wait_for(2);
  }
  void allow_invalidation() {
    const std::lock_guard lock(mutex_);
    is_invalidation_allowed_ = true;
    changed_.notify_all();
  }
  bool wait_for_invalidation() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [this] { return is_invalidation_requested_; });
  }
  ReplyRecorder& written() { return written_; }

 private:
  void drop() {
    std::unique_lock lock(mutex_);
    is_invalidation_requested_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_invalidation_allowed_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_invalidation_allowed_ = false;
  bool is_invalidation_requested_ = false;
  ReplyRecorder read_;
  ReplyRecorder written_;
  std::unique_ptr<ReplyScheduler> scheduler_;
};

class ReplySchedulerPages : public testing::TestWithParam<DelayMode> {};
INSTANTIATE_TEST_SUITE_P(DelayMode,
                         ReplySchedulerPages,
                         testing::Values(DelayMode::kEnabled, DelayMode::kDisabled));

TEST_P(ReplySchedulerPages, write_waits_for_invalidation_of_other_clients) {
  // With a timeout of an hour, a wait for the timeout would fail the test.
  TwoClients clients(GetParam(), 3600s);
  clients.write();
  ASSERT_TRUE(clients.wait_for_invalidation());
  EXPECT_TRUE(clients.can_read_other_file());
  EXPECT_EQ(clients.written().count(), 0);
  clients.allow_invalidation();
  EXPECT_TRUE(clients.written().wait_for(1));
}

TEST_P(ReplySchedulerPages, change_waits_for_its_invalidations) {
  TwoClients clients(GetParam(), 0s);
  clients.change();
  ASSERT_TRUE(clients.wait_for_invalidation());
  EXPECT_TRUE(clients.can_read_other_file());
  EXPECT_EQ(clients.written().count(), 0);
  clients.allow_invalidation();
  EXPECT_TRUE(clients.written().wait_for(1));
}

TEST_P(ReplySchedulerPages, write_waits_for_locked_pages_until_the_timeout) {
  TwoClients clients(GetParam(), 1ms);
  clients.write();
  ASSERT_TRUE(clients.wait_for_invalidation());
  EXPECT_TRUE(clients.written().wait_for(1));
}

TEST(FuseOverheads, interpolated_between_small_and_large) {
  FuseOverheads overheads;
  overheads.read.small = {.before = 10us, .after = 20us};
  overheads.read.large = {.before = 30us, .after = 220us};
  overheads.name = {.before = 1us, .after = 2us};
  EXPECT_EQ(overheads.for_request(RequestKind::kRead, 0).after, 20us);
  EXPECT_EQ(overheads.for_request(RequestKind::kRead, 4096).before, 10us);
  EXPECT_EQ(overheads.for_request(RequestKind::kRead, 1_MiB).after, 220us);
  EXPECT_EQ(overheads.for_request(RequestKind::kRead, (1_MiB + 4096) / 2).after, 120us);
  EXPECT_EQ(overheads.for_request(RequestKind::kStat, 0).after, 2us);
}

}  // namespace
}  // namespace forebay::emufs
