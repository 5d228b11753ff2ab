// SPDX-License-Identifier: Apache-2.0
// Locks that grow: schedules worked out by hand, and what must be true of random ones.
#include "model/object_locks.hpp"

#include <random>

#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

constexpr FileId kLockedFile = 77;

/// 1 ms for a request, 0.5 ms for a lock that is called back, two servers with stripes of 1 MiB.
Machine growing_machine() {
  Machine machine = plain_machine();
  machine.client.count = 64;
  machine.locks = {.unit = LockUnit::kObject, .change_us = 500};
  machine.servers.front().count = 2;
  machine.servers.front().concurrency = 1000;
  return machine;
}

constexpr Layout kLayout{.stripe_bytes = 1_MiB, .stripe_count = 2, .first_server = 0};

/// Of stripe `stripe`, which lies on server `stripe` modulo 2.
Request of_stripe(ClientId client, RequestKind kind, std::uint64_t stripe) {
  return {.client = client,
          .kind = kind,
          .file = kLockedFile,
          .range = {stripe * 1_MiB, 1_MiB},
          .layout = kLayout,
          .tag = client};
}

Request write_of(ClientId client, std::uint64_t stripe) {
  return of_stripe(client, RequestKind::kWrite, stripe);
}

Request read_of(ClientId client, std::uint64_t stripe) {
  return of_stripe(client, RequestKind::kRead, stripe);
}

TEST(GrownLock, of_a_lone_writer_covers_all_that_it_writes_later) {
  StorageModel model(growing_machine());
  Recorder recorder;
  for (std::uint64_t stripe = 0; stripe < 8; ++stripe)
    model.submit(us(0), write_of(0, stripe));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished.back().finished, us(1000));
  EXPECT_EQ(model.counters(ClientId{0}).lock_changes, 0U);
}

TEST(GrownLock, is_called_back_by_the_first_who_writes_beside_it) {
  StorageModel model(growing_machine());
  Recorder recorder;
  model.submit(us(0), write_of(0, 0));
  model.submit(us(100), write_of(1, 2));
  model.submit(us(100), write_of(2, 1));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1000 + 500 + 1000))
      << "aligned, and still one after the other";
  EXPECT_EQ(recorder.answered(2), us(1100)) << "the object of the other server has its own locks";
  ASSERT_EQ(recorder.lost.size(), 1U);
  EXPECT_EQ(recorder.lost[0].client, 0U);
  EXPECT_EQ(recorder.lost[0].at, us(1500));
  EXPECT_EQ(recorder.lost[0].range, (ByteRange{0, all}));
  EXPECT_EQ(model.counters(ClientId{1}).lock_changes, 1U);
  EXPECT_EQ(model.counters(ClientId{1}).waited_for_locks, us(1400));
}

TEST(GrownLock, goes_to_and_fro_between_two_who_write_beside_each_other) {
  StorageModel model(growing_machine());
  std::uint64_t stripe = 0;
  ClosedLoop loop(model, [&](ClientId client) { return write_of(client, 2 * stripe++); });
  const auto answers = loop.run(2, 6);
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i].finished, us(1000 + 1500 * static_cast<std::int64_t>((i + 1) / 2)))
        << "who has lost the lock waits with the other, and both go on together";
  EXPECT_EQ(loop.lost.size(), 3U);
}

TEST(GrownLock, ends_where_others_wait) {
  StorageModel model(growing_machine());
  Recorder recorder;
  model.submit(us(0), write_of(0, 0));
  model.submit(us(100), write_of(1, 2));
  model.submit(us(200), write_of(2, 4));
  model.submit(us(300), write_of(3, 6));
  model.advance(us(1600), recorder);
  ASSERT_EQ(recorder.lost.size(), 1U);
  model.submit(us(1600), write_of(3, 8));
  model.submit(us(1600), write_of(4, 2));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(2500)) << "they had waited for one lock";
  EXPECT_EQ(recorder.answered(2), us(2500));
  EXPECT_EQ(recorder.finished[3].finished, us(2500));
  EXPECT_EQ(recorder.finished[4].finished, us(2600)) << "the last of them has all above";
  EXPECT_EQ(recorder.answered(4), us(2500 + 500 + 1000));
  ASSERT_EQ(recorder.lost.size(), 2U);
  EXPECT_EQ(recorder.lost[1].range, (ByteRange{0, 3_MiB})) << "object bytes 0 … 2 MiB";
}

TEST(GrownLock, that_was_called_back_serves_its_holder_no_more) {
  StorageModel model(growing_machine());
  Recorder recorder;
  model.submit(us(0), write_of(0, 0));
  model.submit(us(100), write_of(1, 2));
  Request again = write_of(0, 4);
  again.tag = 9;
  model.submit(us(200), again);
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(9), us(2500)) << "it waits with the others, and no longer";
}

TEST(GrownLock, of_readers_is_shared_until_somebody_writes) {
  StorageModel model(growing_machine());
  Recorder recorder;
  model.submit(us(0), read_of(0, 0));
  model.submit(us(0), read_of(1, 0));
  model.submit(us(100), write_of(2, 2));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(0), us(1000));
  EXPECT_EQ(recorder.answered(1), us(1000));
  EXPECT_EQ(recorder.answered(2), us(2500)) << "both are called back side by side";
  EXPECT_EQ(recorder.lost.size(), 2U);
}

TEST(GrownLock, of_a_read_that_moves_nothing_is_called_back_like_any_other) {
  StorageModel model(growing_machine());
  Recorder recorder;
  Request at_end = read_of(0, 2);
  at_end.range.size = 0;
  at_end.locked_bytes = 1_MiB;
  model.submit(us(0), at_end);
  model.submit(us(100), write_of(1, 2));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(0), us(0));
  EXPECT_EQ(recorder.answered(1), us(100 + 500 + 1000));
  ASSERT_EQ(recorder.lost.size(), 1U);
  EXPECT_EQ(recorder.lost[0].client, 0U);
}

TEST(GrownLock, of_a_reader_who_writes_is_no_hindrance_to_itself) {
  StorageModel model(growing_machine());
  Recorder recorder;
  model.submit(us(0), read_of(0, 0));
  model.submit(us(0), write_of(0, 0));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished[1].finished, us(1000));
  EXPECT_TRUE(recorder.lost.empty());
}

TEST(GrownLock, grows_by_32_MiB_at_most_beside_many_others) {
  Parts parts;
  ObjectLocks locks(parts);
  constexpr Layout kOneServer{.stripe_bytes = 1_MiB, .stripe_count = 1};
  const auto want = [&](ClientId client, std::uint64_t offset) {
    const ByteRange range{offset, 1_MiB};
    const PartIndex part = parts.add(
        {.client = client, .mode = LockMode::kExclusive, .range = range, .lock_range = range});
    return locks.take({kLockedFile, 0}, kOneServer, part);
  };
  // Each calls back the one before, who keeps nothing; 34 wait for the first.
  std::vector<std::uint32_t> going = want(0, 0).going;
  EXPECT_TRUE(going.empty());
  for (ClientId client = 1; client <= 34; ++client)
    going = want(client, client * 2_MiB).going;
  PartState first = parts[0];
  going = locks.release({kLockedFile, 0}, first).going;
  ASSERT_EQ(going.size(), 1U);
  EXPECT_EQ(locks.given_up(going[0]).news.granted.size(), 34U);
  // The last of them had 33 beside it: whoever comes behind its 32 MiB disturbs nobody.
  EXPECT_TRUE(want(40, 34 * 2_MiB + 31_MiB).granted.empty());
  EXPECT_EQ(want(41, 34 * 2_MiB + 32_MiB).granted.size(), 1U);
}

TEST(GrownLock, of_a_file_that_is_gone_is_forgotten) {
  StorageModel model(growing_machine());
  Recorder recorder;
  model.submit(us(0), write_of(0, 0));
  model.advance(us(1000), recorder);
  model.forget_file(kLockedFile);
  model.submit(us(1000), write_of(1, 2));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(2000));
  EXPECT_TRUE(recorder.lost.empty());
}

/// Lets parts come and go, and complains if two that exclude each other have bytes in common.
class ObjectWatch {
 public:
  explicit ObjectWatch(std::mt19937_64& random) : random_(random), locks_(parts_) {}

  void want() {
    const ByteRange range{random_() % 16, 1 + random_() % 4};
    take_news(locks_.take(
        kObject, {.stripe_bytes = 1_MiB},
        parts_.add({.client = static_cast<ClientId>(random_() % 4),
                    .mode = random_() % 2 == 0 ? LockMode::kExclusive : LockMode::kShared,
                    .range = range,
                    .lock_range = range})));
    ++wanted_;
  }
  void let_something_happen() {
    if (!going_.empty() && (users_.empty() || random_() % 2 == 0)) {
      const std::uint32_t number = going_.back();
      going_.pop_back();
      take_news(locks_.given_up(number).news);
    } else if (!users_.empty()) {
      const auto one = users_.begin() + static_cast<std::ptrdiff_t>(random_() % users_.size());
      const PartState part = parts_[*one];
      parts_.release(*one);
      users_.erase(one);
      take_news(locks_.release(kObject, part));
    }
  }
  bool is_idle() const { return users_.empty() && going_.empty(); }
  std::size_t granted() const { return granted_; }
  std::size_t wanted() const { return wanted_; }

 private:
  static constexpr ObjectName kObject{kLockedFile, 0};

  void take_news(const ObjectNews& news) {
    going_.insert(going_.end(), news.going.begin(), news.going.end());
    for (const PartIndex part : news.granted) {
      ++granted_;
      check_alone(parts_[part]);
      users_.push_back(part);
    }
  }
  void check_alone(const PartState& part) {
    for (const PartIndex index : users_) {
      const PartState& user = parts_[index];
      if (user.client == part.client) continue;
      if (intersect(user.lock_range, part.lock_range).empty()) continue;
      EXPECT_EQ(user.mode, LockMode::kShared);
      EXPECT_EQ(part.mode, LockMode::kShared);
    }
  }

  std::mt19937_64& random_;
  Parts parts_;
  ObjectLocks locks_;
  std::vector<PartIndex> users_;
  std::vector<std::uint32_t> going_;
  std::size_t granted_ = 0;
  std::size_t wanted_ = 0;
};

TEST(RandomParts, never_share_bytes_that_one_of_them_writes_and_all_get_their_lock) {
  std::mt19937_64 random(19);
  for (int round = 0; round < 300; ++round) {
    ObjectWatch watch(random);
    for (int step = 0; step < 200; ++step) {
      if (random() % 2 == 0) watch.want();
      watch.let_something_happen();
    }
    while (!watch.is_idle())
      watch.let_something_happen();
    EXPECT_EQ(watch.granted(), watch.wanted());
  }
}

TEST(RandomRequests, over_objects_all_end) {
  std::mt19937_64 random(23);
  StorageModel model(growing_machine());
  Recorder recorder;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Request request = random() % 2 == 0 ? read_of(0, 0) : write_of(0, 0);
    request.client = static_cast<ClientId>(random() % 64);
    request.range = {random() % 64_MiB, 1 + random() % 4_MiB};
    model.submit(Time(random() % 1'000'000'000), request);
  }
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished.size(), 2000U);
  EXPECT_EQ(model.under_way(), 0U);
}

}  // namespace
}  // namespace forebay::model
