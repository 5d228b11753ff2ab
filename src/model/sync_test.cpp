// SPDX-License-Identifier: Apache-2.0
// Syncs of files and directories: servers that they visit, commits that they share, and faults.
#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

constexpr FileId kFile = 7;
constexpr ServerId kFirst{ServerId::Kind::kData, 0};

/// Two servers with stripes of 4 KiB. A write takes 1 ms, a commit 10 ms on one and 20 on the
/// other.
Machine sync_machine() {
  Machine machine = plain_machine();
  machine.client.count = 2;
  machine.servers.front().sync_us = 10'000;
  machine.servers.push_back(machine.servers.front());
  machine.servers.back().sync_us = 20'000;
  machine.metadata.sync_us = 5000;
  return machine;
}

Request write_of(ByteRange range, FileId file = kFile) {
  return {.kind = RequestKind::kWrite,
          .file = file,
          .range = range,
          .layout = {.stripe_bytes = 4_KiB, .stripe_count = 2, .first_server = 0}};
}

Request sync_of(std::uint64_t tag, FileId file = kFile) {
  return {.client = 1, .kind = RequestKind::kSync, .file = file, .tag = tag};
}

TEST(Sync, visits_servers_with_data_in_parallel) {
  StorageModel model(sync_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of({0, 4_KiB}));
  model.submit(us(2000), sync_of(1));
  model.submit(us(50'000), write_of({0, 8_KiB}));
  model.submit(us(52'000), sync_of(2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(12'000)) << "of the first server alone";
  EXPECT_EQ(recorder.completion_time(2), us(72'000)) << "of the slowest";
  EXPECT_EQ(model.counters(kFirst).syncs, 2U);
  EXPECT_EQ(model.counters(kFirst).requests, 2U) << "writes only";
}

TEST(Sync, without_new_data_completes_at_once) {
  Machine machine = sync_machine();
  machine.client.link_latency_us = 30;
  StorageModel model(machine);
  RecordingObserver recorder;
  model.submit(us(0), sync_of(1));
  model.submit(us(10), write_of({0, 4_KiB}));
  model.submit(us(2000), sync_of(2));
  model.submit(us(20'000), sync_of(3));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(0));
  EXPECT_EQ(recorder.completion_time(2), us(12'030));
  EXPECT_EQ(recorder.completion_time(3), us(20'000)) << "all data is durable";
}

TEST(Sync, costs_nothing_by_default) {
  Machine machine = plain_machine();
  machine.client.link_latency_us = 30;
  StorageModel model(machine);
  RecordingObserver recorder;
  model.submit(us(0), write_of({0, 4_KiB}));
  model.submit(us(2000), {.kind = RequestKind::kSync, .file = kFile, .tag = 1});
  model.submit(us(3000), {.kind = RequestKind::kSyncDirectory, .tag = 2});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(2000));
  EXPECT_EQ(recorder.completion_time(2), us(3000));
}

TEST(Sync, waiting_syncs_share_one_commit) {
  constexpr std::uint64_t kFiles = 64;
  StorageModel model(sync_machine());
  RecordingObserver recorder;
  for (FileId file = 0; file < kFiles; ++file)
    model.submit(us(0), write_of({0, 4_KiB}, file));
  for (FileId file = 0; file < kFiles; ++file)
    model.submit(us(50'000), sync_of(100 + file, file));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(100), us(60'000));
  for (FileId file = 1; file < kFiles; ++file)
    EXPECT_EQ(recorder.completion_time(100 + file), us(70'000));
  EXPECT_EQ(model.counters(kFirst).syncs, kFiles);
  EXPECT_EQ(model.counters(kFirst).commits, 2U);
}

TEST(Sync, does_not_cover_later_writes) {
  StorageModel model(sync_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of({0, 4_KiB}));
  model.submit(us(2000), sync_of(1));
  model.submit(us(3000), write_of({0, 4_KiB}));
  model.submit(us(20'000), sync_of(2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(12'000));
  EXPECT_EQ(recorder.completion_time(2), us(30'000));
}

TEST(Sync, commits_take_no_slot_of_reads_and_writes) {
  Machine machine = sync_machine();
  machine.servers.front().concurrency = 1;
  StorageModel model(machine);
  RecordingObserver recorder;
  model.submit(us(0), write_of({0, 4_KiB}));
  model.submit(us(1500), sync_of(1));
  model.submit(us(2000), {.file = kFile, .range = {0, 4_KiB}, .tag = 2});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(2), us(3000));
  EXPECT_EQ(recorder.completion_time(1), us(11'500));
}

TEST(Sync, follows_a_durable_write) {
  Machine machine = sync_machine();
  machine.client.link_latency_us = 30;
  StorageModel model(machine);
  RecordingObserver recorder;
  Request durable = write_of({0, 8_KiB});
  durable.is_durable = true;
  durable.tag = 1;
  model.submit(us(0), durable);
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1000 + 20'000 + 30));
  EXPECT_EQ(model.counters(ClientId{0}).bytes_written, 8_KiB);
}

TEST(Sync, of_a_directory_takes_its_time) {
  Machine machine = sync_machine();
  machine.client.link_latency_us = 30;
  StorageModel model(machine);
  RecordingObserver recorder;
  model.submit(us(0), {.kind = RequestKind::kSyncDirectory, .tag = 1});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(5030));
  EXPECT_EQ(model.counters(ClientId{0}).metadata_operations, 1U);
}

TEST(Sync, of_a_removed_file_has_nothing_to_commit) {
  StorageModel model(sync_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of({0, 4_KiB}));
  model.advance(us(2000), recorder);
  model.remove_file(kFile);
  model.submit(us(3000), sync_of(1));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(3000));
}

TEST(Sync, waits_for_a_stopped_server_and_is_slowed_down) {
  StorageModel model(sync_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of({0, 4_KiB}));
  model.set_condition(us(1500), kFirst, {ServerCondition::State::kStopped});
  model.submit(us(2000), sync_of(1));
  model.advance(us(50'000), recorder);
  EXPECT_EQ(recorder.completion_time(1), Time::min());
  model.set_condition(us(60'000), kFirst, {.slowness = 3});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(90'000));
}

TEST(Sync, is_dropped_while_it_waits_and_can_be_cancelled) {
  StorageModel model(sync_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of({0, 4_KiB}));
  model.submit(us(2000), sync_of(1));
  const RequestId waiting = model.submit(us(3000), sync_of(2));
  model.set_condition(us(4000), kFirst, {ServerCondition::State::kDropping});
  const RequestId late = model.submit(us(5000), sync_of(3));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(12'000)) << "its commit had begun";
  EXPECT_TRUE(model.is_dropped(waiting));
  EXPECT_TRUE(model.is_dropped(late));
  model.cancel(us(20'000'000), waiting);
  model.cancel(us(20'000'000), late);
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(model.in_flight(), 0U);
  EXPECT_EQ(recorder.completion_time(2), Time::min());
}

}  // namespace
}  // namespace forebay::model
