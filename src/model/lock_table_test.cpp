// SPDX-License-Identifier: Apache-2.0
// Holders of locks over time: schedules computed by hand, and invariants of random ones.
#include "model/lock_table.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

constexpr FileId kFile = 77;

/// 1 ms for a request, 0.5 ms for a change of holder, 1 MiB for one lock.
Machine lock_machine() {
  Machine machine = plain_machine();
  machine.client.count = 4;
  machine.locks = {.unit = LockUnit::kStripe, .change_us = 500};
  machine.servers.front().concurrency = 100;
  return machine;
}

Request of_client(ClientId client, RequestKind kind, ByteRange range) {
  return {.client = client, .kind = kind, .file = kFile, .range = range, .tag = client};
}

Request write_of(ClientId client, ByteRange range = {0, 4_KiB}) {
  return of_client(client, RequestKind::kWrite, range);
}

Request read_of(ClientId client, ByteRange range = {0, 4_KiB}) {
  return of_client(client, RequestKind::kRead, range);
}

TEST(SharedUnit, lock_alternates_between_two_writers) {
  StorageModel model(lock_machine());
  ClosedLoop loop(model, [](ClientId client) { return write_of(client, {client * 4_KiB, 4_KiB}); });
  const auto answers = loop.run(2, 6);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].tag, i % 2);
    EXPECT_EQ(answers[i].finished, us(1000 + 1500 * static_cast<std::int64_t>(i)));
  }
  EXPECT_EQ(model.counters(ClientId{1}).lock_changes, 3U);
  // The former holder is notified before the new one starts: 0.5 ms after the preceding completion.
  ASSERT_GE(loop.lost.size(), 2U);
  EXPECT_EQ(loop.lost[0].client, 0U);
  EXPECT_EQ(loop.lost[0].at, us(1500));
  EXPECT_EQ(loop.lost[0].range, (ByteRange{0, 1_MiB}));
  EXPECT_EQ(loop.lost[1].client, 1U);
}

TEST(SeparateUnits, aligned_writers_change_no_lock) {
  StorageModel model(lock_machine());
  ClosedLoop loop(model, [](ClientId client) { return write_of(client, {client * 1_MiB, 1_MiB}); });
  const auto answers = loop.run(4, 400);
  EXPECT_TRUE(loop.lost.empty());
  EXPECT_EQ(answers.back().finished, us(100'000));
  EXPECT_EQ(model.counters(ClientId{2}).lock_changes, 0U);
}

TEST(SeparateUnits, client_uses_its_lock_for_concurrent_requests) {
  StorageModel model(lock_machine());
  RecordingObserver recorder;
  for (int i = 0; i < 8; ++i)
    model.submit(us(0), write_of(0));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished.size(), 8U);
  EXPECT_EQ(recorder.finished.back().finished, us(1000));
}

TEST(Readers, share_and_lose_their_locks_to_a_writer_when_done) {
  StorageModel model(lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), read_of(0));
  model.submit(us(300), read_of(1));
  model.submit(us(400), write_of(2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(0), us(1000));
  EXPECT_EQ(recorder.completion_time(1), us(1300));
  EXPECT_EQ(recorder.completion_time(2), us(1300 + 500 + 1000));
  ASSERT_EQ(recorder.lost.size(), 2U);
  EXPECT_EQ(recorder.lost[0].client, 0U);
  EXPECT_EQ(recorder.lost[1].client, 1U);
  EXPECT_EQ(recorder.lost[1].file, kFile);
  EXPECT_EQ(model.counters(ClientId{2}).lock_wait_time, us(1400));
}

TEST(Readers, do_not_overtake_a_waiting_writer) {
  StorageModel model(lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), read_of(0));
  model.submit(us(100), write_of(1));
  model.submit(us(200), read_of(0));
  model.submit(us(300), read_of(2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(2500));
  // The first reader takes the lock back, the other joins it at no cost.
  EXPECT_EQ(recorder.finished.back().finished, us(2500 + 500 + 1000));
  EXPECT_EQ(recorder.completion_time(2), us(4000));
  EXPECT_EQ(recorder.lost.size(), 2U);
}

TEST(Readers, single_reader_becomes_writer_at_no_cost) {
  StorageModel model(lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), read_of(0));
  model.submit(us(0), write_of(0));
  model.submit(us(5000), read_of(0));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished[1].finished, us(1000));
  EXPECT_EQ(recorder.finished[2].finished, us(6000));
  EXPECT_TRUE(recorder.lost.empty());
}

TEST(Readers, reader_that_writes_waits_only_for_other_readers) {
  StorageModel model(lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), read_of(1));
  model.submit(us(600), read_of(0));
  model.submit(us(700), write_of(0));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished.back().finished, us(1000 + 500 + 1000));
  ASSERT_EQ(recorder.lost.size(), 1U);
  EXPECT_EQ(recorder.lost[0].client, 1U);
}

TEST(SeveralUnits, are_locked_one_after_the_other) {
  Machine machine = lock_machine();
  machine.locks = {.unit = LockUnit::kBytes, .unit_bytes = 4_KiB, .change_us = 100};
  StorageModel model(machine);
  RecordingObserver recorder;
  model.submit(us(0), write_of(0, {0, 12_KiB}));
  model.submit(us(2000), write_of(1, {4_KiB + 1, 8_KiB}));
  model.advance(kTimeMax, recorder);
  // Units 1 and 2 belong to the other client; 3 is free.
  EXPECT_EQ(recorder.completion_time(1), us(2000 + 100 + 100 + 1000));
  ASSERT_EQ(recorder.lost.size(), 2U);
  EXPECT_EQ(recorder.lost[0].range, (ByteRange{4_KiB, 4_KiB}));
  EXPECT_EQ(recorder.lost[1].range, (ByteRange{8_KiB, 4_KiB}));
}

TEST(LockedBytes, beyond_the_transferred_ones_take_locks_only) {
  Machine machine = lock_machine();
  machine.client.link_latency_us = 10;
  StorageModel model(machine);
  RecordingObserver recorder;
  Request at_end = read_of(0, {1_MiB, 0});
  at_end.locked_bytes = 1_MiB;
  model.submit(us(0), at_end);
  model.submit(us(100), write_of(1, {1_MiB, 4_KiB}));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(0), us(0)) << "no bytes are transferred";
  EXPECT_EQ(recorder.completion_time(1), us(100 + 500 + 1000 + 10)) << "the lock was the reader's";
  ASSERT_EQ(recorder.lost.size(), 1U);
  EXPECT_EQ(recorder.lost[0].client, 0U);
  EXPECT_EQ(recorder.lost[0].range, (ByteRange{1_MiB, 1_MiB}));
  EXPECT_EQ(model.counters(ServerId{.index = 0}).requests, 1U);
  EXPECT_EQ(model.counters(ClientId{0}).bytes_read, 0U);
}

TEST(LockedBytes, of_a_short_read_cost_only_the_existing_bytes) {
  StorageModel model(lock_machine());
  RecordingObserver recorder;
  Request is_short = read_of(0, {0, 4_KiB});
  is_short.locked_bytes = 4_MiB;
  model.submit(us(0), is_short);
  model.submit(us(5000), write_of(1, {3_MiB, 4_KiB}));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(0), us(1000));
  EXPECT_EQ(recorder.completion_time(1), us(5000 + 500 + 1000));
  EXPECT_EQ(model.counters(ServerId{.index = 0}).requests, 2U);
  EXPECT_EQ(model.counters(ServerId{.index = 0}).bytes_read, 4_KiB);
}

TEST(WholeFile, is_one_lock_and_each_file_has_its_own) {
  Machine machine = lock_machine();
  machine.locks.unit = LockUnit::kFile;
  StorageModel model(machine);
  RecordingObserver recorder;
  model.submit(us(0), write_of(0, {0, 4_KiB}));
  model.submit(us(0), write_of(1, {1_GiB, 4_KiB}));
  Request other = write_of(2);
  other.file = kFile + 1;
  model.submit(us(0), other);
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(2500));
  EXPECT_EQ(recorder.completion_time(2), us(1000));
  EXPECT_EQ(recorder.lost.at(0).range, (ByteRange{0, kAll}));
}

TEST(WholeFile, removed_file_has_no_locks) {
  StorageModel model(lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of(0));
  model.advance(us(1000), recorder);
  model.remove_file(kFile);
  model.submit(us(1000), write_of(1));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(2000));
  EXPECT_TRUE(recorder.lost.empty());
}

TEST(WholeFile, file_in_use_keeps_its_locks) {
  StorageModel model(lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of(0));
  model.advance(us(10), recorder);
  model.remove_file(kFile);
  model.submit(us(10), write_of(1));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(2500));
}

/// Records grants and releases of subrequests, and fails if two conflict.
class LockTableChecker {
 public:
  explicit LockTableChecker(std::mt19937_64& random) : random_(random), table_(subrequests_) {}

  void request_lock(std::uint64_t unit) {
    const auto client = static_cast<ClientId>(random_() % 4);
    const LockMode mode = random_() % 3 == 0 ? LockMode::kExclusive : LockMode::kShared;
    const SubrequestIndex part = subrequests_.add({.client = client, .mode = mode, .unit = unit});
    ++wanted_;
    apply_update(unit, table_.enqueue({kFile, unit}, part));
  }
  void run_random_step() {
    if (!changing_.empty() && (users_.empty() || random_() % 2 == 0)) {
      const SubrequestIndex part = changing_.back();
      changing_.pop_back();
      const std::uint64_t unit = subrequests_[part].unit;
      apply_update(unit, table_.complete_transfer({kFile, unit}));
    } else if (!users_.empty()) {
      const std::size_t index = random_() % users_.size();
      const Subrequest part = subrequests_[users_[index]];
      subrequests_.release(users_[index]);
      users_.erase(users_.begin() + static_cast<std::ptrdiff_t>(index));
      apply_update(part.unit, table_.release({kFile, part.unit}, part.client));
    }
  }
  bool is_idle() const { return users_.empty() && changing_.empty(); }
  std::size_t granted() const { return granted_; }
  std::size_t wanted() const { return wanted_; }

 private:
  void apply_update(std::uint64_t unit, const LockUpdate& update) {
    if (update.transferring != kNoSubrequest) changing_.push_back(update.transferring);
    for (const ClientId previous_holder : update.revoked_clients) {
      for (const SubrequestIndex user : users_)
        EXPECT_FALSE(subrequests_[user].unit == unit &&
                     subrequests_[user].client == previous_holder);
    }
    for (const SubrequestIndex part : update.granted) {
      ++granted_;
      check_exclusive(unit, subrequests_[part]);
      users_.push_back(part);
    }
  }
  void check_exclusive(std::uint64_t unit, const Subrequest& part) {
    for (const SubrequestIndex index : users_) {
      const Subrequest& user = subrequests_[index];
      if (user.unit != unit || user.client == part.client) continue;
      EXPECT_EQ(user.mode, LockMode::kShared);
      EXPECT_EQ(part.mode, LockMode::kShared);
    }
  }

  std::mt19937_64& random_;
  SubrequestPool subrequests_;
  LockTable table_;
  std::vector<SubrequestIndex> users_;
  std::vector<SubrequestIndex> changing_;
  std::size_t granted_ = 0;
  std::size_t wanted_ = 0;
};

TEST(RandomSubrequests, never_conflict_and_all_get_their_lock) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 200; ++round) {
    LockTableChecker checker(random);
    for (int step = 0; step < 200; ++step) {
      if (random() % 2 == 0) checker.request_lock(random() % 3);
      checker.run_random_step();
    }
    while (!checker.is_idle())
      checker.run_random_step();
    EXPECT_EQ(checker.granted(), checker.wanted());
  }
}

TEST(RandomRequests, over_many_units_all_complete) {
  std::mt19937_64 random(17);
  Machine machine = lock_machine();
  machine.locks = {.unit = LockUnit::kBytes, .unit_bytes = 4_KiB, .change_us = 10};
  StorageModel model(machine);
  RecordingObserver recorder;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto client = static_cast<ClientId>(random() % 4);
    const auto kind = random() % 2 == 0 ? RequestKind::kRead : RequestKind::kWrite;
    const ByteRange range{random() % 64_KiB, 1 + random() % 64_KiB};
    model.submit(Time(random() % 1'000'000), of_client(client, kind, range));
  }
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished.size(), 2000U);
  EXPECT_EQ(model.in_flight(), 0U);
}

}  // namespace
}  // namespace forebay::model
