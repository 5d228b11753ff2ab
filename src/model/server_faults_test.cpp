// SPDX-License-Identifier: Apache-2.0
// Servers that stop, slow down or drop what they are asked, and requests that nobody waits for.
#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

using State = ServerCondition::State;

constexpr ServerName kServer{ServerName::Kind::kData, 0};

/// 1 ms, then 0.1 ms on the path for 100 bytes; two at once.
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

TEST(StoppedServer, begins_nothing_until_it_works_again) {
  StorageModel model(small_machine());
  Recorder recorder;
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    model.submit(us(0), read_with_tag(tag));
  model.set_condition(us(500), kServer, {State::kStopped});
  model.advance(us(50'000), recorder);
  EXPECT_TRUE(recorder.finished.empty());
  EXPECT_EQ(model.next_event(), std::nullopt);
  EXPECT_EQ(model.under_way(), 3U);
  model.set_condition(us(60'000), kServer, {});
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(60'100));
  EXPECT_EQ(recorder.answered(2), us(60'200));
  EXPECT_EQ(recorder.answered(3), us(61'200));
}

TEST(StoppedServer, ends_a_transfer_under_way) {
  StorageModel model(small_machine());
  Recorder recorder;
  model.submit(us(0), read_with_tag(1));
  model.set_condition(us(1050), kServer, {State::kStopped});
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1100));
}

TEST(SlowServer, takes_as_many_times_as_long_for_what_begins) {
  StorageModel model(small_machine());
  Recorder recorder;
  model.submit(us(0), read_with_tag(1));
  model.set_condition(us(500), kServer, {.slowness = 3});
  model.submit(us(600), read_with_tag(2));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1000 + 300));
  EXPECT_EQ(recorder.answered(2), us(600 + 3000 + 300));
}

TEST(DroppingServer, loses_what_would_begin) {
  StorageModel model(small_machine());
  Recorder recorder;
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    model.submit(us(0), read_with_tag(tag));
  model.set_condition(us(1050), kServer, {State::kDrops});
  model.submit(us(1200), read_with_tag(4));
  model.advance(us(9000), recorder);
  EXPECT_EQ(recorder.finished.size(), 1U);
  EXPECT_EQ(recorder.answered(1), us(1100));
  EXPECT_EQ(model.counters(kServer).dropped, 3U);
  EXPECT_EQ(model.counters(kServer).in_service, 0U);
  EXPECT_EQ(model.counters(kServer).waiting, 0U);
  model.set_condition(us(10'000), kServer, {});
  model.submit(us(10'000), read_with_tag(5));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(5), us(11'100));
  EXPECT_EQ(model.under_way(), 3U);
}

TEST(DroppingServer, keeps_locks_until_the_request_is_forgotten) {
  Machine machine = small_machine();
  machine.locks = {.unit = LockUnit::kFile, .change_us = 10};
  StorageModel model(machine);
  Recorder recorder;
  model.set_condition(us(0), kServer, {State::kDrops});
  const RequestId lost =
      model.submit(us(0), {.kind = RequestKind::kWrite, .range = {0, 100}, .tag = 1});
  model.set_condition(us(1), kServer, {});
  const RequestId behind = model.submit(us(2), {.client = 1, .range = {0, 100}, .tag = 2});
  model.advance(us(5000), recorder);
  EXPECT_TRUE(recorder.finished.empty());
  EXPECT_TRUE(model.never_ends(lost));
  EXPECT_FALSE(model.never_ends(behind));
  model.forget(us(6000), lost);
  model.advance(kEnd, recorder);
  EXPECT_FALSE(model.never_ends(lost));
  EXPECT_EQ(recorder.finished.size(), 1U);
  EXPECT_EQ(recorder.answered(2), us(6000 + 10 + 1100));
  EXPECT_EQ(model.under_way(), 0U);
}

TEST(ForgottenRequest, is_served_and_not_told) {
  StorageModel model(small_machine());
  Recorder recorder;
  const RequestId first = model.submit(us(0), read_with_tag(1));
  model.submit(us(0), read_with_tag(2));
  model.forget(us(10), first);
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished.size(), 1U);
  EXPECT_EQ(recorder.answered(2), us(1200));
}

TEST(ForgottenRequest, that_has_ended_harms_no_other) {
  StorageModel model(small_machine());
  Recorder recorder;
  const RequestId first = model.submit(us(0), read_with_tag(1));
  model.advance(us(5000), recorder);
  model.submit(us(5000), read_with_tag(2));
  model.forget(us(5100), first);
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(2), us(6100));
}

TEST(ForgottenRequest, of_which_more_is_dropped_later_ends) {
  StorageModel model(small_machine());
  Recorder recorder;
  const RequestId id = model.submit(us(0), read_with_tag(1));
  model.forget(us(10), id);
  model.set_condition(us(20), kServer, {State::kDrops});
  model.advance(kEnd, recorder);
  EXPECT_TRUE(recorder.finished.empty());
  EXPECT_EQ(model.under_way(), 0U);
}

TEST(MetadataServer, can_stop_too) {
  Machine machine = small_machine();
  machine.metadata.create_us = 500;
  StorageModel model(machine);
  Recorder recorder;
  const ServerName server{ServerName::Kind::kMetadata, 0};
  model.set_condition(us(0), server, {State::kStopped});
  model.submit(us(1), {.kind = RequestKind::kCreate, .tag = 1});
  model.set_condition(us(700), server, {});
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1200));
}

}  // namespace
}  // namespace forebay::model
