// SPDX-License-Identifier: Apache-2.0
// Who has a lock when: schedules worked out by hand, and what must be true of random ones.
#include "model/locks.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

constexpr FileId kFile = 77;

/// 1 ms for a request, 0.5 ms for a lock that changes hands, 1 MiB for one lock.
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

TEST(SharedUnit, two_writers_play_ping_pong) {
  StorageModel model(lock_machine());
  ClosedLoop loop(model, [](ClientId client) { return write_of(client, {client * 4_KiB, 4_KiB}); });
  const auto answers = loop.run(2, 6);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].tag, i % 2);
    EXPECT_EQ(answers[i].finished, us(1000 + 1500 * static_cast<std::int64_t>(i)));
  }
  EXPECT_EQ(model.counters(ClientId{1}).lock_changes, 3U);
  // The loser knows before the taker begins: 0.5 ms after the answer before.
  ASSERT_GE(loop.lost.size(), 2U);
  EXPECT_EQ(loop.lost[0].client, 0U);
  EXPECT_EQ(loop.lost[0].at, us(1500));
  EXPECT_EQ(loop.lost[0].range, (ByteRange{0, 1_MiB}));
  EXPECT_EQ(loop.lost[1].client, 1U);
}

TEST(OwnUnits, aligned_writers_change_no_lock) {
  StorageModel model(lock_machine());
  ClosedLoop loop(model, [](ClientId client) { return write_of(client, {client * 1_MiB, 1_MiB}); });
  const auto answers = loop.run(4, 400);
  EXPECT_TRUE(loop.lost.empty());
  EXPECT_EQ(answers.back().finished, us(100'000));
  EXPECT_EQ(model.counters(ClientId{2}).lock_changes, 0U);
}

TEST(OwnUnits, a_client_uses_its_lock_many_times_at_once) {
  StorageModel model(lock_machine());
  Recorder recorder;
  for (int i = 0; i < 8; ++i)
    model.submit(us(0), write_of(0));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished.size(), 8U);
  EXPECT_EQ(recorder.finished.back().finished, us(1000));
}

TEST(Readers, share_and_lose_their_locks_to_a_writer_when_they_are_done) {
  StorageModel model(lock_machine());
  Recorder recorder;
  model.submit(us(0), read_of(0));
  model.submit(us(300), read_of(1));
  model.submit(us(400), write_of(2));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(0), us(1000));
  EXPECT_EQ(recorder.answered(1), us(1300));
  EXPECT_EQ(recorder.answered(2), us(1300 + 500 + 1000));
  ASSERT_EQ(recorder.lost.size(), 2U);
  EXPECT_EQ(recorder.lost[0].client, 0U);
  EXPECT_EQ(recorder.lost[1].client, 1U);
  EXPECT_EQ(recorder.lost[1].file, kFile);
  EXPECT_EQ(model.counters(ClientId{2}).waited_for_locks, us(1400));
}

TEST(Readers, do_not_overtake_a_writer_who_waits) {
  StorageModel model(lock_machine());
  Recorder recorder;
  model.submit(us(0), read_of(0));
  model.submit(us(100), write_of(1));
  model.submit(us(200), read_of(0));
  model.submit(us(300), read_of(2));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(2500));
  // The first reader takes the lock back, the other joins it for nothing.
  EXPECT_EQ(recorder.finished.back().finished, us(2500 + 500 + 1000));
  EXPECT_EQ(recorder.answered(2), us(4000));
  EXPECT_EQ(recorder.lost.size(), 2U);
}

TEST(Readers, alone_become_writers_for_nothing) {
  StorageModel model(lock_machine());
  Recorder recorder;
  model.submit(us(0), read_of(0));
  model.submit(us(0), write_of(0));
  model.submit(us(5000), read_of(0));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished[1].finished, us(1000));
  EXPECT_EQ(recorder.finished[2].finished, us(6000));
  EXPECT_TRUE(recorder.lost.empty());
}

TEST(Readers, who_become_writers_wait_for_others_but_not_for_themselves) {
  StorageModel model(lock_machine());
  Recorder recorder;
  model.submit(us(0), read_of(1));
  model.submit(us(600), read_of(0));
  model.submit(us(700), write_of(0));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished.back().finished, us(1000 + 500 + 1000));
  ASSERT_EQ(recorder.lost.size(), 1U);
  EXPECT_EQ(recorder.lost[0].client, 1U);
}

TEST(SeveralUnits, are_taken_one_after_the_other) {
  Machine machine = lock_machine();
  machine.locks = {.unit = LockUnit::kBytes, .unit_bytes = 4_KiB, .change_us = 100};
  StorageModel model(machine);
  Recorder recorder;
  model.submit(us(0), write_of(0, {0, 12_KiB}));
  model.submit(us(2000), write_of(1, {4_KiB + 1, 8_KiB}));
  model.advance(kEnd, recorder);
  // Units 1 and 2 belong to the other; 3 is free.
  EXPECT_EQ(recorder.answered(1), us(2000 + 100 + 100 + 1000));
  ASSERT_EQ(recorder.lost.size(), 2U);
  EXPECT_EQ(recorder.lost[0].range, (ByteRange{4_KiB, 4_KiB}));
  EXPECT_EQ(recorder.lost[1].range, (ByteRange{8_KiB, 4_KiB}));
}

TEST(LockedBytes, beyond_those_that_are_moved_take_locks_and_no_server) {
  Machine machine = lock_machine();
  machine.client.link_latency_us = 10;
  StorageModel model(machine);
  Recorder recorder;
  Request at_end = read_of(0, {1_MiB, 0});
  at_end.locked_bytes = 1_MiB;
  model.submit(us(0), at_end);
  model.submit(us(100), write_of(1, {1_MiB, 4_KiB}));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(0), us(0)) << "it moves nothing";
  EXPECT_EQ(recorder.answered(1), us(100 + 500 + 1000 + 10)) << "the lock was the reader's";
  ASSERT_EQ(recorder.lost.size(), 1U);
  EXPECT_EQ(recorder.lost[0].client, 0U);
  EXPECT_EQ(recorder.lost[0].range, (ByteRange{1_MiB, 1_MiB}));
  EXPECT_EQ(model.counters(ServerName{.index = 0}).requests, 1U);
  EXPECT_EQ(model.counters(ClientId{0}).bytes_read, 0U);
}

TEST(LockedBytes, of_a_short_read_are_those_asked_for_and_it_pays_for_those_there_are) {
  StorageModel model(lock_machine());
  Recorder recorder;
  Request is_short = read_of(0, {0, 4_KiB});
  is_short.locked_bytes = 4_MiB;
  model.submit(us(0), is_short);
  model.submit(us(5000), write_of(1, {3_MiB, 4_KiB}));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(0), us(1000));
  EXPECT_EQ(recorder.answered(1), us(5000 + 500 + 1000));
  EXPECT_EQ(model.counters(ServerName{.index = 0}).requests, 2U);
  EXPECT_EQ(model.counters(ServerName{.index = 0}).bytes_read, 4_KiB);
}

TEST(WholeFile, is_one_lock_and_each_file_has_its_own) {
  Machine machine = lock_machine();
  machine.locks.unit = LockUnit::kFile;
  StorageModel model(machine);
  Recorder recorder;
  model.submit(us(0), write_of(0, {0, 4_KiB}));
  model.submit(us(0), write_of(1, {1_GiB, 4_KiB}));
  Request other = write_of(2);
  other.file = kFile + 1;
  model.submit(us(0), other);
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(2500));
  EXPECT_EQ(recorder.answered(2), us(1000));
  EXPECT_EQ(recorder.lost.at(0).range, (ByteRange{0, all}));
}

TEST(WholeFile, that_is_gone_has_no_locks) {
  StorageModel model(lock_machine());
  Recorder recorder;
  model.submit(us(0), write_of(0));
  model.advance(us(1000), recorder);
  model.forget_file(kFile);
  model.submit(us(1000), write_of(1));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(2000));
  EXPECT_TRUE(recorder.lost.empty());
}

TEST(WholeFile, that_is_in_use_keeps_its_locks) {
  StorageModel model(lock_machine());
  Recorder recorder;
  model.submit(us(0), write_of(0));
  model.advance(us(10), recorder);
  model.forget_file(kFile);
  model.submit(us(10), write_of(1));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(2500));
}

/// Notes when parts are granted and released, and complains if two exclude each other.
class LockWatch {
 public:
  explicit LockWatch(std::mt19937_64& random) : random_(random), table_(parts_) {}

  void want(std::uint64_t unit) {
    const auto client = static_cast<ClientId>(random_() % 4);
    const LockMode mode = random_() % 3 == 0 ? LockMode::kExclusive : LockMode::kShared;
    const PartIndex part = parts_.add({.client = client, .mode = mode, .unit = unit});
    ++wanted_;
    take_news(unit, table_.take({kFile, unit}, part));
  }
  void let_something_happen() {
    if (!changing_.empty() && (users_.empty() || random_() % 2 == 0)) {
      const PartIndex part = changing_.back();
      changing_.pop_back();
      const std::uint64_t unit = parts_[part].unit;
      take_news(unit, table_.changed({kFile, unit}));
    } else if (!users_.empty()) {
      const std::size_t index = random_() % users_.size();
      const PartState part = parts_[users_[index]];
      parts_.release(users_[index]);
      users_.erase(users_.begin() + static_cast<std::ptrdiff_t>(index));
      take_news(part.unit, table_.release({kFile, part.unit}, part.client));
    }
  }
  bool is_idle() const { return users_.empty() && changing_.empty(); }
  std::size_t granted() const { return granted_; }
  std::size_t wanted() const { return wanted_; }

 private:
  void take_news(std::uint64_t unit, const LockNews& news) {
    if (news.changing != kNoPart) changing_.push_back(news.changing);
    for (const ClientId loser : news.losers) {
      for (const PartIndex user : users_)
        EXPECT_FALSE(parts_[user].unit == unit && parts_[user].client == loser);
    }
    for (const PartIndex part : news.granted) {
      ++granted_;
      check_alone(unit, parts_[part]);
      users_.push_back(part);
    }
  }
  void check_alone(std::uint64_t unit, const PartState& part) {
    for (const PartIndex index : users_) {
      const PartState& user = parts_[index];
      if (user.unit != unit || user.client == part.client) continue;
      EXPECT_EQ(user.mode, LockMode::kShared);
      EXPECT_EQ(part.mode, LockMode::kShared);
    }
  }

  std::mt19937_64& random_;
  Parts parts_;
  LockTable table_;
  std::vector<PartIndex> users_;
  std::vector<PartIndex> changing_;
  std::size_t granted_ = 0;
  std::size_t wanted_ = 0;
};

TEST(RandomParts, never_exclude_each_other_and_all_get_their_lock) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 200; ++round) {
    LockWatch watch(random);
    for (int step = 0; step < 200; ++step) {
      if (random() % 2 == 0) watch.want(random() % 3);
      watch.let_something_happen();
    }
    while (!watch.is_idle())
      watch.let_something_happen();
    EXPECT_EQ(watch.granted(), watch.wanted());
  }
}

TEST(RandomRequests, over_many_units_all_end) {
  std::mt19937_64 random(17);
  Machine machine = lock_machine();
  machine.locks = {.unit = LockUnit::kBytes, .unit_bytes = 4_KiB, .change_us = 10};
  StorageModel model(machine);
  Recorder recorder;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto client = static_cast<ClientId>(random() % 4);
    const auto kind = random() % 2 == 0 ? RequestKind::kRead : RequestKind::kWrite;
    const ByteRange range{random() % 64_KiB, 1 + random() % 64_KiB};
    model.submit(Time(random() % 1'000'000), of_client(client, kind, range));
  }
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished.size(), 2000U);
  EXPECT_EQ(model.under_way(), 0U);
}

}  // namespace
}  // namespace forebay::model
