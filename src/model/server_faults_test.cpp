// SPDX-License-Identifier: Apache-2.0
// Servers that stop, slow down or drop requests, and cancelled requests.
#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

using State = ServerCondition::State;

constexpr ServerId kServer{ServerId::Kind::kData, 0};

/// 1 ms, then 0.1 ms on the channel for 100 bytes; two at once.
Machine small_machine() {
  Machine machine = plain_machine();
  machine.client.count = 2;
  machine.servers.front() = {.latency_us = 1000,
                             .concurrency = 2,
                             .bandwidth_mb_per_s = 1,
                             .write_latency_us = 1000,
                             .write_bandwidth_mb_per_s = 1};
  return machine;
}

Request read_with_tag(std::uint64_t tag) { return {.range = {0, 100}, .tag = tag}; }

TEST(StoppedServer, starts_nothing_until_it_runs_again) {
  StorageModel model(small_machine());
  RecordingObserver recorder;
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    model.submit(us(0), read_with_tag(tag));
  model.set_condition(us(500), kServer, {State::kStopped});
  model.advance(us(50'000), recorder);
  EXPECT_TRUE(recorder.finished.empty());
  EXPECT_EQ(model.next_event(), std::nullopt);
  EXPECT_EQ(model.in_flight(), 3U);
  model.set_condition(us(60'000), kServer, {});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(60'100));
  EXPECT_EQ(recorder.completion_time(2), us(60'200));
  EXPECT_EQ(recorder.completion_time(3), us(61'200));
}

TEST(StoppedServer, completes_a_transfer_in_progress) {
  StorageModel model(small_machine());
  RecordingObserver recorder;
  model.submit(us(0), read_with_tag(1));
  model.set_condition(us(1050), kServer, {State::kStopped});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1100));
}

TEST(SlowServer, slows_down_work_that_starts_later) {
  StorageModel model(small_machine());
  RecordingObserver recorder;
  model.submit(us(0), read_with_tag(1));
  model.set_condition(us(500), kServer, {.slowness = 3});
  model.submit(us(600), read_with_tag(2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1000 + 300));
  EXPECT_EQ(recorder.completion_time(2), us(600 + 3000 + 300));
}

TEST(DroppingServer, loses_work_that_would_start) {
  StorageModel model(small_machine());
  RecordingObserver recorder;
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    model.submit(us(0), read_with_tag(tag));
  model.set_condition(us(1050), kServer, {State::kDropping});
  model.submit(us(1200), read_with_tag(4));
  model.advance(us(9000), recorder);
  EXPECT_EQ(recorder.finished.size(), 1U);
  EXPECT_EQ(recorder.completion_time(1), us(1100));
  EXPECT_EQ(model.counters(kServer).dropped, 3U);
  EXPECT_EQ(model.counters(kServer).in_service, 0U);
  EXPECT_EQ(model.counters(kServer).waiting, 0U);
  model.set_condition(us(10'000), kServer, {});
  model.submit(us(10'000), read_with_tag(5));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(5), us(11'100));
  EXPECT_EQ(model.in_flight(), 3U);
}

TEST(DroppingServer, keeps_locks_until_the_request_is_cancelled) {
  Machine machine = small_machine();
  machine.locks = {.unit = LockUnit::kFile, .change_us = 10};
  StorageModel model(machine);
  RecordingObserver recorder;
  model.set_condition(us(0), kServer, {State::kDropping});
  const RequestId lost =
      model.submit(us(0), {.kind = RequestKind::kWrite, .range = {0, 100}, .tag = 1});
  model.set_condition(us(1), kServer, {});
  const RequestId behind = model.submit(us(2), {.client = 1, .range = {0, 100}, .tag = 2});
  model.advance(us(5000), recorder);
  EXPECT_TRUE(recorder.finished.empty());
  EXPECT_TRUE(model.is_dropped(lost));
  EXPECT_FALSE(model.is_dropped(behind));
  model.cancel(us(6000), lost);
  model.advance(kTimeMax, recorder);
  EXPECT_FALSE(model.is_dropped(lost));
  EXPECT_EQ(recorder.finished.size(), 1U);
  EXPECT_EQ(recorder.completion_time(2), us(6000 + 10 + 1100));
  EXPECT_EQ(model.in_flight(), 0U);
}

TEST(CancelledRequest, is_served_and_not_reported) {
  StorageModel model(small_machine());
  RecordingObserver recorder;
  const RequestId first = model.submit(us(0), read_with_tag(1));
  model.submit(us(0), read_with_tag(2));
  model.cancel(us(10), first);
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished.size(), 1U);
  EXPECT_EQ(recorder.completion_time(2), us(1200));
}

TEST(CancelledRequest, completed_request_is_ignored) {
  StorageModel model(small_machine());
  RecordingObserver recorder;
  const RequestId first = model.submit(us(0), read_with_tag(1));
  model.advance(us(5000), recorder);
  model.submit(us(5000), read_with_tag(2));
  model.cancel(us(5100), first);
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(2), us(6100));
}

TEST(CancelledRequest, completes_when_dropped_later) {
  StorageModel model(small_machine());
  RecordingObserver recorder;
  const RequestId id = model.submit(us(0), read_with_tag(1));
  model.cancel(us(10), id);
  model.set_condition(us(20), kServer, {State::kDropping});
  model.advance(kTimeMax, recorder);
  EXPECT_TRUE(recorder.finished.empty());
  EXPECT_EQ(model.in_flight(), 0U);
}

TEST(MetadataServer, can_stop) {
  Machine machine = small_machine();
  machine.metadata.create_us = 500;
  StorageModel model(machine);
  RecordingObserver recorder;
  const ServerId server{ServerId::Kind::kMetadata, 0};
  model.set_condition(us(0), server, {State::kStopped});
  model.submit(us(1), {.kind = RequestKind::kCreate, .tag = 1});
  model.set_condition(us(700), server, {});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1200));
}

}  // namespace
}  // namespace forebay::model
