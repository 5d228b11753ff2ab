// SPDX-License-Identifier: Apache-2.0
// Locks that grow: schedules computed by hand, and invariants of random ones.
#include "model/extent_locks.hpp"

#include <random>

#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

constexpr FileId kLockedFile = 77;

/// 1 ms for a request, 0.5 ms for a callback, two servers with stripes of 1 MiB.
Machine extent_lock_machine() {
  Machine machine = plain_machine();
  machine.client.count = 64;
  machine.locks = {.unit = LockUnit::kObject, .change_us = 500};
  machine.servers.front().count = 2;
  machine.servers.front().concurrency = 1000;
  return machine;
}

constexpr Layout kLayout{.stripe_bytes = 1_MiB, .stripe_count = 2, .first_server = 0};

/// Of stripe `stripe`, which is on server `stripe` modulo 2.
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

TEST(ExtentLock, lock_of_a_single_writer_covers_all_its_later_writes) {
  StorageModel model(extent_lock_machine());
  RecordingObserver recorder;
  for (std::uint64_t stripe = 0; stripe < 8; ++stripe)
    model.submit(us(0), write_of(0, stripe));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished.back().finished, us(1000));
  EXPECT_EQ(model.counters(ClientId{0}).lock_changes, 0U);
}

TEST(ExtentLock, first_adjacent_writer_calls_the_lock_back) {
  StorageModel model(extent_lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of(0, 0));
  model.submit(us(100), write_of(1, 2));
  model.submit(us(100), write_of(2, 1));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1000 + 500 + 1000)) << "aligned, but still sequential";
  EXPECT_EQ(recorder.completion_time(2), us(1100))
      << "the object of the other server has its own locks";
  ASSERT_EQ(recorder.lost.size(), 1U);
  EXPECT_EQ(recorder.lost[0].client, 0U);
  EXPECT_EQ(recorder.lost[0].at, us(1500));
  EXPECT_EQ(recorder.lost[0].range, (ByteRange{0, kAll}));
  EXPECT_EQ(model.counters(ClientId{1}).lock_changes, 1U);
  EXPECT_EQ(model.counters(ClientId{1}).lock_wait_time, us(1400));
}

TEST(ExtentLock, alternates_between_two_adjacent_writers) {
  StorageModel model(extent_lock_machine());
  std::uint64_t stripe = 0;
  ClosedLoop loop(model, [&](ClientId client) { return write_of(client, 2 * stripe++); });
  const auto answers = loop.run(2, 6);
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i].finished, us(1000 + 1500 * static_cast<std::int64_t>((i + 1) / 2)))
        << "the former holder waits with the other, and both are granted together";
  EXPECT_EQ(loop.lost.size(), 3U);
}

TEST(ExtentLock, ends_at_bytes_that_others_wait_for) {
  StorageModel model(extent_lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of(0, 0));
  model.submit(us(100), write_of(1, 2));
  model.submit(us(200), write_of(2, 4));
  model.submit(us(300), write_of(3, 6));
  model.advance(us(1600), recorder);
  ASSERT_EQ(recorder.lost.size(), 1U);
  model.submit(us(1600), write_of(3, 8));
  model.submit(us(1600), write_of(4, 2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(2500)) << "they waited for one lock";
  EXPECT_EQ(recorder.completion_time(2), us(2500));
  EXPECT_EQ(recorder.finished[3].finished, us(2500));
  EXPECT_EQ(recorder.finished[4].finished, us(2600)) << "the last of them has all bytes above";
  EXPECT_EQ(recorder.completion_time(4), us(2500 + 500 + 1000));
  ASSERT_EQ(recorder.lost.size(), 2U);
  EXPECT_EQ(recorder.lost[1].range, (ByteRange{0, 3_MiB})) << "object bytes 0 … 2 MiB";
}

TEST(ExtentLock, lock_that_was_called_back_serves_no_new_request) {
  StorageModel model(extent_lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of(0, 0));
  model.submit(us(100), write_of(1, 2));
  Request again = write_of(0, 4);
  again.tag = 9;
  model.submit(us(200), again);
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(9), us(2500)) << "it waits as long as the others";
}

TEST(ExtentLock, readers_share_until_a_client_writes) {
  StorageModel model(extent_lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), read_of(0, 0));
  model.submit(us(0), read_of(1, 0));
  model.submit(us(100), write_of(2, 2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(0), us(1000));
  EXPECT_EQ(recorder.completion_time(1), us(1000));
  EXPECT_EQ(recorder.completion_time(2), us(2500)) << "both are called back concurrently";
  EXPECT_EQ(recorder.lost.size(), 2U);
}

TEST(ExtentLock, lock_of_an_empty_read_is_called_back_too) {
  StorageModel model(extent_lock_machine());
  RecordingObserver recorder;
  Request at_end = read_of(0, 2);
  at_end.range.size = 0;
  at_end.locked_bytes = 1_MiB;
  model.submit(us(0), at_end);
  model.submit(us(100), write_of(1, 2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(0), us(0));
  EXPECT_EQ(recorder.completion_time(1), us(100 + 500 + 1000));
  ASSERT_EQ(recorder.lost.size(), 1U);
  EXPECT_EQ(recorder.lost[0].client, 0U);
}

TEST(ExtentLock, read_lock_does_not_block_a_write_of_its_client) {
  StorageModel model(extent_lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), read_of(0, 0));
  model.submit(us(0), write_of(0, 0));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished[1].finished, us(1000));
  EXPECT_TRUE(recorder.lost.empty());
}

TEST(ExtentLock, grows_by_at_most_32_MiB_beside_many_locks) {
  SubrequestPool parts;
  ExtentLockTable locks(parts);
  constexpr Layout kOneServer{.stripe_bytes = 1_MiB, .stripe_count = 1};
  const auto request_lock = [&](ClientId client, std::uint64_t offset) {
    const ByteRange range{offset, 1_MiB};
    const SubrequestIndex part = parts.add(
        {.client = client, .mode = LockMode::kExclusive, .range = range, .lock_range = range});
    return locks.take({kLockedFile, 0}, kOneServer, part);
  };
  // Each client calls back the preceding one, which keeps nothing; 34 wait for the first.
  std::vector<std::uint32_t> going = request_lock(0, 0).cancelling;
  EXPECT_TRUE(going.empty());
  for (ClientId client = 1; client <= 34; ++client)
    going = request_lock(client, client * 2_MiB).cancelling;
  Subrequest first = parts[0];
  going = locks.release({kLockedFile, 0}, first).cancelling;
  ASSERT_EQ(going.size(), 1U);
  EXPECT_EQ(locks.complete_cancel(going[0]).update.granted.size(), 34U);
  // The last of them had 33 conflicting locks: a request beyond its 32 MiB conflicts with none.
  EXPECT_TRUE(request_lock(40, 34 * 2_MiB + 31_MiB).granted.empty());
  EXPECT_EQ(request_lock(41, 34 * 2_MiB + 32_MiB).granted.size(), 1U);
}

TEST(ExtentLock, locks_of_a_removed_file_are_released) {
  StorageModel model(extent_lock_machine());
  RecordingObserver recorder;
  model.submit(us(0), write_of(0, 0));
  model.advance(us(1000), recorder);
  model.remove_file(kLockedFile);
  model.submit(us(1000), write_of(1, 2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(2000));
  EXPECT_TRUE(recorder.lost.empty());
}

/// Adds and removes subrequests, and fails if two that conflict have bytes in common.
class ExtentLockChecker {
 public:
  explicit ExtentLockChecker(std::mt19937_64& random) : random_(random), locks_(subrequests_) {}

  void request_lock() {
    const ByteRange range{random_() % 16, 1 + random_() % 4};
    apply_update(locks_.take(
        kObject, {.stripe_bytes = 1_MiB},
        subrequests_.add({.client = static_cast<ClientId>(random_() % 4),
                          .mode = random_() % 2 == 0 ? LockMode::kExclusive : LockMode::kShared,
                          .range = range,
                          .lock_range = range})));
    ++wanted_;
  }
  void run_random_step() {
    if (!going_.empty() && (users_.empty() || random_() % 2 == 0)) {
      const std::uint32_t number = going_.back();
      going_.pop_back();
      apply_update(locks_.complete_cancel(number).update);
    } else if (!users_.empty()) {
      const auto one = users_.begin() + static_cast<std::ptrdiff_t>(random_() % users_.size());
      const Subrequest part = subrequests_[*one];
      subrequests_.release(*one);
      users_.erase(one);
      apply_update(locks_.release(kObject, part));
    }
  }
  bool is_idle() const { return users_.empty() && going_.empty(); }
  std::size_t granted() const { return granted_; }
  std::size_t wanted() const { return wanted_; }

 private:
  static constexpr ObjectId kObject{kLockedFile, 0};

  void apply_update(const ExtentLockUpdate& update) {
    going_.insert(going_.end(), update.cancelling.begin(), update.cancelling.end());
    for (const SubrequestIndex part : update.granted) {
      ++granted_;
      check_exclusive(subrequests_[part]);
      users_.push_back(part);
    }
  }
  void check_exclusive(const Subrequest& part) {
    for (const SubrequestIndex index : users_) {
      const Subrequest& user = subrequests_[index];
      if (user.client == part.client) continue;
      if (intersect(user.lock_range, part.lock_range).empty()) continue;
      EXPECT_EQ(user.mode, LockMode::kShared);
      EXPECT_EQ(part.mode, LockMode::kShared);
    }
  }

  std::mt19937_64& random_;
  SubrequestPool subrequests_;
  ExtentLockTable locks_;
  std::vector<SubrequestIndex> users_;
  std::vector<std::uint32_t> going_;
  std::size_t granted_ = 0;
  std::size_t wanted_ = 0;
};

TEST(RandomSubrequests, never_share_written_bytes_and_all_get_their_lock) {
  std::mt19937_64 random(19);
  for (int round = 0; round < 300; ++round) {
    ExtentLockChecker checker(random);
    for (int step = 0; step < 200; ++step) {
      if (random() % 2 == 0) checker.request_lock();
      checker.run_random_step();
    }
    while (!checker.is_idle())
      checker.run_random_step();
    EXPECT_EQ(checker.granted(), checker.wanted());
  }
}

TEST(RandomRequests, with_extent_locks_all_complete) {
  std::mt19937_64 random(23);
  StorageModel model(extent_lock_machine());
  RecordingObserver recorder;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Request request = random() % 2 == 0 ? read_of(0, 0) : write_of(0, 0);
    request.client = static_cast<ClientId>(random() % 64);
    request.range = {random() % 64_MiB, 1 + random() % 4_MiB};
    model.submit(Time(random() % 1'000'000'000), request);
  }
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished.size(), 2000U);
  EXPECT_EQ(model.in_flight(), 0U);
}

}  // namespace
}  // namespace forebay::model
